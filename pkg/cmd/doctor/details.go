// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certutil "k8s.io/client-go/util/cert"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/cmd/status"
)

func (f *facts) explainDelivery(zone *status.Item) (fault, next string) {
	for i := range f.deliveries {
		d := &f.deliveries[i]
		if d.Namespace != zone.Namespace || d.Spec.Zone.Name != zone.Name {
			continue
		}
		for n := range f.overview.ClassFaults {
			if of := &f.overview.ClassFaults[n]; of.Name == class.NameOf(d.Namespace, d.Spec.ClassRef) && of.Reason == zone.Reason {
				fault, next = splitNext(of.Message)
				return "DNSClass " + of.Name + ": " + fault, cmp.Or(next, "kubectl describe dnsclass "+of.Name)
			}
		}
		ready := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Status == metav1.ConditionTrue ||
			ready.Reason != zone.Reason && zone.Reason != v1alpha1.ReasonAwaitsClass {
			continue
		}
		for n := range d.Status.Servers {
			row := &d.Status.Servers[n]
			if row.State == v1alpha1.ServerCurrent {
				continue
			}
			fault, next = splitNext(cmp.Or(row.Message, fmt.Sprintf("it answers serial %d", row.Serial)))
			step := fmt.Sprintf("read the log of %s and have the server transfer %s again (docs/operations.md, "+
				"KubizoneSecondaryBehind); kubectl get delivery %s -n %s -o yaml has all rows", row.Name, d.Spec.Zone.FQDN, d.Name,
				d.Namespace)
			return fmt.Sprintf("server %s is %s: %s", row.Name, row.State, fault), cmp.Or(next, step)
		}
	}
	return "", ""
}

func (f *facts) startProcess(process string) (fault, next string) {
	namespace, _, _ := f.serviceRef()
	name := "kubizone-" + process
	for i := range f.deployments {
		one := &f.deployments[i]
		switch {
		case one.Name != name:
		case one.Spec.Replicas != nil && *one.Spec.Replicas == 0:
			return fmt.Sprintf("Deployment %s/%s wants 0 replicas", namespace, name),
				fmt.Sprintf("kubectl scale deployment %s -n %s --replicas=1, unless 0 is on purpose", name, namespace)
		default:
			return "", fmt.Sprintf("start the process %s: kubectl get deployments,pods -n %s -l app.kubernetes.io/name=%s, "+
				"then kubectl logs of the pod, or kubectl describe", process, namespace, name)
		}
	}
	return "", fmt.Sprintf("start the process %s: kubectl get deployments,statefulsets,pods -n %s shows whether it has a "+
		"workload with replicas, and kubectl logs why a pod ended", process, namespace)
}

const (
	ourManager = "kubizone-serving"
	injector   = "cainjector"
)

func describeBundle(of *apiregistrationv1.APIService) (text, writer string) {
	certs, err := certutil.ParseCertsPEM(of.Spec.CABundle)
	if err != nil {
		return "caBundle of " + of.Name + " is empty", ""
	}
	var subjects []string
	for _, cert := range certs {
		subjects = append(subjects, cert.Subject.String())
	}
	text = "caBundle of " + of.Name + " is " + shortenList(subjects)
	var last *metav1.ManagedFieldsEntry
	for i := range of.ManagedFields {
		one := &of.ManagedFields[i]
		if one.FieldsV1 != nil && bytes.Contains(one.FieldsV1.Raw, []byte(`"f:caBundle"`)) && (last == nil || last.Time.Before(one.Time)) {
			last = one
		}
	}
	if last == nil {
		return text, ""
	}
	text += ", last written by " + last.Manager
	if last.Time != nil {
		text += " at " + last.Time.UTC().Format("15:04:05Z on 2 January")
	}
	if last.Manager == ourManager {
		return text, ""
	}
	return text, last.Manager
}

func mendBundle(writer, host string) string {
	const wait = "then wait half a minute, as servers with --serving-cert-secret write caBundle"
	switch {
	case strings.Contains(writer, injector):
		return "look at the log of cert-manager's cainjector, which writes caBundle, and at the Certificate"
	case writer != "":
		return "stop " + writer + " from writing caBundle (a GitOps tool: docs/gitops.md, ignoreDifferences), " + wait +
			"; without that flag, put the servers' authority into caBundle"
	}
	return "look for another writer of caBundle, such as a GitOps tool (kubectl get apiservice -o yaml " +
		"--show-managed-fields), " + wait + "; without that flag, put the authority into caBundle, and " + host +
		" into the names of the certificate"
}

func (f *facts) nextForAPI(name, reason string) string {
	switch required := slices.Contains(requiredAPIs, name); {
	case required && isOfTrust(reason):
		return "the certificate or caBundle is wrong: run this as a user who may read APIServices and Secrets, and follow trust"
	case required:
		return "no other check explains it: a firewall or NetworkPolicy may stand between control plane and pods. Open TCP 10250, or " +
			"set another apiserver.securePort of the chart"
	}
	return "the servers may run without its flag, such as --acme: repeat the upgrade that adds it, or kubectl delete apiservice " + name
}

func isOfTrust(reason string) bool {
	return strings.Contains(reason, "x509") || strings.Contains(reason, "tls: ")
}

func shortenList(all []string) string {
	if len(all) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:3], ", "), len(all)-3)
	}
	return strings.Join(all, ", ")
}

func splitNext(message string) (fault, next string) {
	fault, next, _ = strings.Cut(message, "; ")
	return fault, next
}
