// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kubi.zone/kubizone/pkg/cmd"
)

// withController is an installation with the controller.
func withController(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	return render(t, kustomization(t, "embedded", "components: [DEPLOY/controller]\n"))
}

// M1, attacks 55 and 77: the controller writes how far zones are delivered and holds what is; it may read no Secret,
// and the server beside it may do no more than without it.
func TestController_isGrantedWhatItWrites(t *testing.T) {
	var got, others []string
	for _, line := range strings.Split(strings.TrimSpace(grants(t, withController(t))), "\n") {
		if what, ok := strings.CutPrefix(line, "ServiceAccount kubizone-system/kubizone-controller: "); ok {
			got = append(got, what)
		} else {
			others = append(others, line)
		}
	}
	want := []string{
		`ClusterRole kubizone-controller: create,patch events in "events.k8s.io"`,
		`ClusterRole kubizone-controller: get zones/entries,zones/changes in "kubi.zone"`,
		`ClusterRole kubizone-controller: get,list,watch,create,patch,delete deliveries in "kubi.zone"`,
		`ClusterRole kubizone-controller: list,watch namespaces in ""`,
		`ClusterRole kubizone-controller: list,watch records in "kubi.zone"`,
		`ClusterRole kubizone-controller: get,list,watch zones in "kubi.zone"`,
		`ClusterRole kubizone-controller: list,watch dnsclasses in "kubi.zone"`,
		`ClusterRole kubizone-controller: patch zones/finalizers,dnsclasses/finalizers in "kubi.zone"`,
		`ClusterRole kubizone-controller: patch zones/status,records/status,dnsclasses/status in "kubi.zone"`,
		`ClusterRole kubizone-controller: update deliveries/status in "kubi.zone"`,
		`Role kubizone-system/kubizone-controller: create leases in "coordination.k8s.io"`,
		`Role kubizone-system/kubizone-controller: get,update leases in "coordination.k8s.io" named kubizone-controller`,
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("granted:\n%s", strings.Join(got, "\n"))
	}
	if without := grants(t, render(t, manifests+"/embedded")); strings.Join(others, "\n")+"\n" != without {
		t.Errorf("the component grants others:\n%s", strings.Join(others, "\n"))
	}
}

// M3, and every port that a probe names is one that the flags open.
func TestController_fitsTogether(t *testing.T) {
	var deployment *appsv1.Deployment
	for _, object := range withController(t) {
		if object.GetKind() == "Deployment" {
			deployment = as[appsv1.Deployment](t, object)
		}
	}
	if deployment == nil {
		t.Fatal("no Deployment")
	}
	container := deployment.Spec.Template.Spec.Containers[0]
	command, rest, err := cmd.New().Find(container.Args)
	if err != nil {
		t.Fatal(err)
	}
	if err := command.ParseFlags(rest); err != nil || command.Name() != "controller" || command.Flags().NArg() > 0 {
		t.Fatalf("%s: %v, arguments %q", command.Name(), err, command.Flags().Args())
	}
	port := container.Ports[0]
	if listen := command.Flag("health-listen").Value.String(); !strings.HasSuffix(listen, ":"+strconv.Itoa(int(port.ContainerPort))) {
		t.Errorf("port %s is %d, --health-listen is %s", port.Name, port.ContainerPort, listen)
	}
	if container.LivenessProbe.HTTPGet.Port.StrVal != port.Name || container.ReadinessProbe.HTTPGet.Port.StrVal != port.Name {
		t.Errorf("the probes ask another port than %s", port.Name)
	}
	if c := container.SecurityContext; c == nil || c.ReadOnlyRootFilesystem == nil || !*c.ReadOnlyRootFilesystem || c.AllowPrivilegeEscalation == nil || *c.AllowPrivilegeEscalation {
		t.Error("the container may do more than it has to")
	}
}
