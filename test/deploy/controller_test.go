// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kubi.zone/kubizone/pkg/cmd"
)

func withController(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	return renderKustomization(t, writeKustomization(t, "ha", "components: [DEPLOY/controller]\n"))
}

// M3, and the flags open every port of a probe.
func TestController_fitsTogether(t *testing.T) {
	var deployment *appsv1.Deployment
	for _, object := range withController(t) {
		if object.GetKind() == "Deployment" {
			deployment = convertTo[appsv1.Deployment](t, object)
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
