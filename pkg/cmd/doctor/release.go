// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	groups "kubi.zone/kubizone/pkg/cmd/cluster"
)

const chartName = "kubizone"

const maxRelease = 16 << 20

// release.name is "" without a release of helm.
type release struct {
	name     string
	revision int
}

func findRelease(ctx context.Context, client groups.Interface, namespace string) (found release, err error) {
	list, err := client.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{
		LabelSelector: "owner=helm,status notin (superseded,uninstalled)", FieldSelector: "type=helm.sh/release.v1"})
	if err != nil {
		return found, err
	}
	for i := range list.Items {
		secret := &list.Items[i]
		revision, err := strconv.Atoi(secret.Labels["version"])
		if err == nil && revision > found.revision && readChart(secret.Data["release"]) == chartName {
			found = release{secret.Labels["name"], revision}
		}
	}
	return found, nil
}

func readChart(stored []byte) string {
	unpacked, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(stored)))
	if err != nil {
		return ""
	}
	var of struct {
		Chart struct {
			Metadata struct{ Name string }
		}
	}
	if err := json.NewDecoder(io.LimitReader(unpacked, maxRelease)).Decode(&of); err != nil {
		return ""
	}
	return of.Chart.Metadata.Name
}

func (f *facts) installAgain() string {
	namespace, _, _ := f.serviceRef()
	switch {
	case f.release.name != "":
		return fmt.Sprintf("helm has the release %[1]s: helm rollback %[1]s %[2]d -n %[3]s restores the deleted objects", f.release.name,
			f.release.revision, namespace)
	case f.releaseErr != nil:
		return "helm rollback, where helm list -n " + namespace + " has a release; else kubectl apply -k with the form that was applied " +
			"(docs/install.md)"
	case f.service != nil || len(f.pods) > 0:
		return "helm has no release here: kubectl apply -k with the form that was applied (docs/install.md)"
	}
	return fmt.Sprintf("nothing is installed in %[1]s: helm install kubizone CHART -n %[1]s --create-namespace, with the chart of a "+
		"release, or charts/kubizone and --set image.repository=REGISTRY/kubizone, or kubectl apply -k (docs/install.md)", namespace)
}

func (f *facts) updateRules() string {
	if f.release.name != "" {
		namespace, _, _ := f.serviceRef()
		return fmt.Sprintf("%s; where the servers are of a newer version, helm upgrade %s with its chart -n %s", f.installAgain(),
			f.release.name, namespace)
	}
	helm := ""
	if f.releaseErr != nil {
		helm = "helm upgrade, or "
	}
	return helm + "kubectl apply -f artifacts/deploy/base/rbac.yaml, of this version"
}
