// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// M3, and the flags of each program beside the server open every port that probes and Services ask. No container may
// write to its image or gain privileges.
func TestDeployment_fitsTogether(t *testing.T) {
	objects := decodeObjects(t, renderTemplate(t, "mode=ha", components["controller"], components["fleet"], components["primary"]))
	listens := map[string]map[string]string{ // flag by port
		"controller": {"health": "health-listen"},
		"fleet":      {"health": "health-listen"},
		"primary": {"health": "health-listen", "dns": "dns-listen", "dns-tcp": "dns-listen", "dns-tls": "dns-tls-listen",
			"dns-tls-udp": "dns-tls-listen"},
	}
	for _, object := range objects {
		if object.GetKind() != "Deployment" {
			continue
		}
		name := strings.TrimPrefix(object.GetName(), "kubizone-")
		flags, known := listens[name]
		if delete(listens, name); !known {
			t.Errorf("the Deployment %s is new: add its ports", object.GetName())
			continue
		}
		deployment := convertTo[appsv1.Deployment](t, object)
		pod := deployment.Spec.Template
		container := pod.Spec.Containers[0]
		command := parseCommand(t, container.Args)
		if command.Name() != name || command.Flags().NArg() > 0 {
			t.Errorf("%s starts %s with arguments %q", name, command.Name(), command.Flags().Args())
		}
		ports := map[string]bool{}
		for _, port := range container.Ports {
			ports[port.Name] = true
			at := intstr.FromInt32(port.ContainerPort)
			if flag := command.Flag(flags[port.Name]); flag == nil || !strings.HasSuffix(flag.Value.String(), ":"+at.String()) {
				t.Errorf("port %s of %s is %s, and --%s opens another", port.Name, name, &at, flags[port.Name])
			}
		}
		named := []intstr.IntOrString{container.LivenessProbe.HTTPGet.Port, container.ReadinessProbe.HTTPGet.Port}
		for _, object := range objects {
			if object.GetKind() != "Service" || object.GetName() != "kubizone-"+name {
				continue
			}
			service := convertTo[corev1.Service](t, object)
			for key, value := range service.Spec.Selector {
				if pod.Labels[key] != value || deployment.Spec.Selector.MatchLabels[key] != value {
					t.Errorf("the Service of %s selects %s=%s, the pods have %q", name, key, value, pod.Labels[key])
				}
			}
			for _, port := range service.Spec.Ports {
				named = append(named, port.TargetPort)
			}
		}
		if name == "primary" && len(named) < 4 {
			t.Errorf("no Service leads to the primary: %v", named)
		}
		for _, port := range named {
			if !ports[port.StrVal] {
				t.Errorf("no port of %s is called %s", name, port.StrVal)
			}
		}
		if c := container.SecurityContext; c == nil || c.ReadOnlyRootFilesystem == nil || !*c.ReadOnlyRootFilesystem ||
			c.AllowPrivilegeEscalation == nil || *c.AllowPrivilegeEscalation {
			t.Errorf("the container of %s may write to its image, or gain privileges", name)
		}
		if flag := command.Flag("tsig-key-file"); flag != nil {
			mount := container.VolumeMounts[0]
			if key := flag.Value.String(); !strings.HasPrefix(key, mount.MountPath+"/") || !mount.ReadOnly {
				t.Errorf("the keys of %s are in %s, and %s is mounted", name, key, mount.MountPath)
			}
		}
	}
	if len(listens) > 0 {
		t.Errorf("no Deployment runs %v", listens)
	}
}
