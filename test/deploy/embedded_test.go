// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kubi.zone/kubizone/test/rig/kuberig"
)

func renderEmbedded(t *testing.T, values ...string) []*unstructured.Unstructured {
	t.Helper()
	return decodeObjects(t, renderTemplate(t, append([]string{formValues("embedded"), components["primary"]}, values...)...))
}

// One pod has server, controller and primary, each with its account, its flags and its ports.
func TestEmbedded_isOnePod(t *testing.T) {
	objects := renderEmbedded(t, components["monitoring"], "controller.extraArgs={--lease-duration=20s}",
		"primary.extraArgs={--dns-view=inside}")
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			t.Errorf("Deployment %s is beside the pod", object.GetName())
		}
	}
	pod := findPodTemplate(t, objects)
	container := pod.Spec.Containers[0]
	commands := splitCommands(container.Args)
	if len(pod.Spec.Containers) != 1 || len(commands) != 3 {
		t.Fatalf("%d containers, the first of which runs %q", len(pod.Spec.Containers), commands)
	}
	ports := map[string]string{}
	for _, port := range container.Ports {
		ports[port.Name] = strconv.Itoa(int(port.ContainerPort))
	}
	for i, want := range []struct {
		name, flag, value string
		listens           map[string]string // port by flag
	}{
		{"apiserver", "etcd-data-dir", "/var/lib/kubizone/data", map[string]string{"secure-port": "https"}},
		{"controller", "lease-duration", "20s", map[string]string{"health-listen": "health"}},
		{"primary", "dns-view", "[inside]", map[string]string{"health-listen": "health-primary", "dns-listen": "dns"}},
	} {
		command := parseCommand(t, commands[i])
		if command.Name() != want.name || command.Flag(want.flag).Value.String() != want.value {
			t.Errorf("%s --%s=%s, want %+v", command.Name(), want.flag, command.Flag(want.flag).Value, want)
		}
		account := "system:serviceaccount:$(POD_NAMESPACE):kubizone-" + want.name
		if i > 0 && command.Flag("as").Value.String() != account {
			t.Errorf("%s acts as %s, want %s", want.name, command.Flag("as").Value, account)
		}
		for flag, port := range want.listens {
			if listen := command.Flag(flag).Value.String(); ports[port] == "" || strings.TrimPrefix(listen, ":") != ports[port] {
				t.Errorf("port %s is %q, %s --%s is %s", port, ports[port], want.name, flag, listen)
			}
		}
	}
	if ports["dns"] != ports["dns-tcp"] {
		t.Errorf("DNS is at %s by UDP and at %s by TCP", ports["dns"], ports["dns-tcp"])
	}
	checkTargets(t, objects, pod.Labels, ports)
}

// checkTargets requires that Services, policies and the PodMonitor select the pod, and name ports of it.
func checkTargets(t *testing.T, objects []*unstructured.Unstructured, labels, ports map[string]string) {
	t.Helper()
	found := map[string]bool{}
	for _, object := range objects {
		var selector map[string]string
		var named []string
		switch object.GetKind() {
		case "Service":
			service := convertTo[corev1.Service](t, object)
			selector = service.Spec.Selector
			for _, port := range service.Spec.Ports {
				named = append(named, port.TargetPort.StrVal)
			}
		case "NetworkPolicy":
			selector, _, _ = unstructured.NestedStringMap(object.Object, "spec", "podSelector", "matchLabels")
			rules, _, _ := unstructured.NestedSlice(object.Object, "spec", "ingress")
			for _, rule := range rules {
				for _, port := range rule.(map[string]any)["ports"].([]any) {
					named = append(named, port.(map[string]any)["port"].(string))
				}
			}
		case "PodMonitor":
			endpoints, _, _ := unstructured.NestedSlice(object.Object, "spec", "podMetricsEndpoints")
			for _, endpoint := range endpoints {
				named = append(named, endpoint.(map[string]any)["port"].(string))
			}
		default:
			continue
		}
		name := object.GetKind() + " " + object.GetName()
		found[name] = true
		for key, value := range selector {
			if labels[key] != value {
				t.Errorf("%s selects %s=%s, the pod has %q", name, key, value, labels[key])
			}
		}
		if name == "PodMonitor kubizone" || name == "NetworkPolicy kubizone-metrics" {
			expressions, _, _ := unstructured.NestedSlice(object.Object, "spec", map[string]string{"PodMonitor": "selector",
				"NetworkPolicy": "podSelector"}[object.GetKind()], "matchExpressions")
			if values := expressions[0].(map[string]any)["values"].([]any); !slices.Contains(values, any(kuberig.ServerName)) {
				t.Errorf("%s selects %v", name, values)
			}
		}
		for _, port := range named {
			if ports[port] == "" {
				t.Errorf("%s names the port %s, the pod has %v", name, port, ports)
			}
		}
	}
	for _, want := range []string{"Service kubizone-apiserver", "Service kubizone-primary", "NetworkPolicy kubizone-apiserver",
		"NetworkPolicy kubizone-primary", "NetworkPolicy kubizone-metrics", "PodMonitor kubizone"} {
		if !found[want] {
			t.Errorf("%s is missing", want)
		}
	}
}

// In mode embedded the pod starts before the primary's key exists, so the Secret's volume is optional. The memory limit
// is that of a small installation, unless the values set another.
func TestEmbedded_isSmallAndWaitsForNoKey(t *testing.T) {
	for _, test := range []struct{ value, limit, request string }{
		{"primary.replicas=1", "512Mi", "256Mi"},
		{"apiserver.resources.limits.memory=4Gi", "4Gi", "256Mi"},
		{"apiserver.resources.requests.memory=1Gi,apiserver.resources.limits.memory=1Gi", "1Gi", "1Gi"},
	} {
		pod := findPodTemplate(t, renderEmbedded(t, test.value)).Spec
		of := pod.Containers[0].Resources
		if of.Limits.Memory().String() != test.limit || of.Requests.Memory().String() != test.request || of.Requests.Cpu().IsZero() {
			t.Errorf("%s: %v", test.value, of)
		}
		if volume := pod.Volumes[0]; volume.Secret == nil || volume.Secret.Optional == nil || !*volume.Secret.Optional {
			t.Errorf("the pod waits for the volume %+v", volume)
		}
	}
}
