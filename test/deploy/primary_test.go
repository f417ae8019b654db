// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kubi.zone/kubizone/pkg/cmd"
)

func withPrimary(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	return renderKustomization(t, writeKustomization(t, "ha", "components: [DEPLOY/primary]\n"))
}

// M3, and the flags open every port of a probe, the Service and the policy.
func TestPrimary_fitsTogether(t *testing.T) {
	var deployment *appsv1.Deployment
	var service *corev1.Service
	for _, object := range withPrimary(t) {
		switch {
		case object.GetKind() == "Deployment":
			deployment = convertTo[appsv1.Deployment](t, object)
		case object.GetKind() == "Service" && object.GetName() == "kubizone-primary":
			service = convertTo[corev1.Service](t, object)
		}
	}
	if deployment == nil || service == nil {
		t.Fatal("no Deployment or no Service")
	}
	pod := deployment.Spec.Template
	for key, value := range service.Spec.Selector {
		if pod.Labels[key] != value || deployment.Spec.Selector.MatchLabels[key] != value {
			t.Errorf("the Service selects %s=%s, the pods have %q", key, value, pod.Labels[key])
		}
	}
	container := pod.Spec.Containers[0]
	command, rest, err := cmd.New().Find(container.Args)
	if err != nil {
		t.Fatal(err)
	}
	if err := command.ParseFlags(rest); err != nil || command.Name() != "primary" || command.Flags().NArg() > 0 {
		t.Fatalf("%s: %v, arguments %q", command.Name(), err, command.Flags().Args())
	}
	ports := map[string]int32{}
	for _, port := range container.Ports {
		ports[port.Name] = port.ContainerPort
		flag := "dns-listen"
		if port.Name == "health" {
			flag = "health-listen"
		}
		if listen := command.Flag(flag).Value.String(); !strings.HasSuffix(listen, ":"+strconv.Itoa(int(port.ContainerPort))) {
			t.Errorf("port %s is %d, --%s is %s", port.Name, port.ContainerPort, flag, listen)
		}
	}
	named := []intstr.IntOrString{container.LivenessProbe.HTTPGet.Port, container.ReadinessProbe.HTTPGet.Port}
	for _, port := range service.Spec.Ports {
		named = append(named, port.TargetPort)
	}
	for _, port := range named {
		if ports[port.StrVal] == 0 {
			t.Errorf("no port is called %s", port.StrVal)
		}
	}
	if c := container.SecurityContext; c == nil || c.ReadOnlyRootFilesystem == nil || !*c.ReadOnlyRootFilesystem || c.AllowPrivilegeEscalation == nil || *c.AllowPrivilegeEscalation {
		t.Error("the container may do more than it has to")
	}
	key := command.Flag("tsig-key-file").Value.String()
	if mount := container.VolumeMounts[0]; !strings.HasPrefix(key, mount.MountPath+"/") || !mount.ReadOnly {
		t.Errorf("the keys are in %s, and %s is mounted", key, mount.MountPath)
	}
}
