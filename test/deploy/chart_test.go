// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"kubi.zone/kubizone/pkg/kit/version"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

const chart = "../../charts/kubizone"

// runHelm has caches of its own. The error contains standard error.
func runHelm(t *testing.T, environment []string, arguments ...string) (string, error) {
	t.Helper()
	program := rig.Need(rig.Tool("helm"))(t)
	home := t.TempDir()
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Env = slices.Concat(os.Environ(), []string{"HELM_CACHE_HOME=" + home, "HELM_CONFIG_HOME=" + home, "HELM_DATA_HOME=" + home}, environment)
	var out, stderr bytes.Buffer
	command.Stdout, command.Stderr = &out, &stderr
	if err := command.Run(); err != nil {
		return out.String(), fmt.Errorf("helm %s: %w\n%s", strings.Join(arguments, " "), err, &stderr)
	}
	return out.String(), nil
}

// renderTemplate needs no cluster. kustomizations replace the image name.
func renderTemplate(t *testing.T, values ...string) string {
	t.Helper()
	arguments := []string{"template", "kubizone", chart, "-n", kuberig.InstallNamespace, "--set", "image.repository=kubizone,controller.enabled=false"}
	for _, value := range values {
		arguments = append(arguments, "--set", value)
	}
	out := must.Get(runHelm(t, nil, arguments...))(t)
	return out
}

func decodeObjects(t *testing.T, manifest string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
}

func renderFiles(t *testing.T) map[string]string {
	t.Helper()
	const header = "# Copyright The Kubizone Authors.\n# SPDX-License-Identifier: Apache-2.0\n# Rendered from charts/kubizone by: go test ./test/deploy -run Chart -update\n"
	files := map[string]string{}
	add := func(manifest string, directories map[string]string) {
		for _, document := range strings.Split(manifest, "---\n# Source: kubizone/templates/")[1:] {
			source, text, _ := strings.Cut(document, "\n")
			directory, wanted := directories[path.Dir(source)]
			if !wanted {
				continue
			}
			name := path.Join(directory, path.Base(source))
			if files[name] == "" {
				files[name] = header
			} else {
				files[name] += "---\n"
			}
			files[name] += strings.TrimRight(text, "\n") + "\n"
		}
	}
	for _, form := range forms {
		directories := map[string]string{"apiserver": form}
		if form == "embedded" {
			directories["controller"] = form
		}
		add(renderTemplate(t, formValues(form), etcdServers), directories)
	}
	add(renderTemplate(t, formValues("embedded"), components["primary"]), map[string]string{"primary": "primary-embedded"})
	all := map[string]string{}
	for _, directory := range []string{"base", "controller", "fleet", "primary", "monitoring"} {
		all[directory] = directory
	}
	add(renderTemplate(t, "mode=ha", components["controller"], components["fleet"], components["primary"], components["monitoring"]), all)
	for _, name := range []string{"cert-manager", "tracing"} {
		add(renderTemplate(t, components[name]), map[string]string{name: name})
	}
	return files
}

const etcdServers = `externalEtcd.servers={https://etcd-0.etcd.etcd.svc:2379,https://etcd-1.etcd.etcd.svc:2379,https://etcd-2.etcd.etcd.svc:2379}`

// formValues are the values of an overlay of kustomize; embedded has the controller in its pod.
func formValues(form string) string {
	if form == "embedded" {
		return "mode=embedded,controller.enabled=true"
	}
	return "mode=" + form
}

// componentOf returns the component of kustomize for an entry of components, or "" if the form includes it.
func componentOf(form, name string) string {
	switch {
	case form == "embedded" && name == "controller":
		return ""
	case form == "embedded" && name == "primary":
		return "primary-embedded"
	}
	return name
}

var components = map[string]string{
	"aggregate-roles": "aggregateRoles=true",
	"cert-manager":    "certManager.enabled=true",
	"controller":      "controller.enabled=true",
	"fleet":           "fleet.enabled=true,fleet.namespaces={dns-system}",
	"monitoring":      "monitoring.monitors=true,monitoring.rules=true,monitoring.dashboard=true",
	"primary":         "primary.enabled=true",
	"tracing":         "tracing.endpoint=otel-collector.observability.svc:4317",
}

// M6: kustomize's files equal helm's rendering, file by file.
func TestChart_isTheSourceOfTheManifests(t *testing.T) {
	if *update {
		must.Succeed(t, os.WriteFile(dashboards+"kubizone.json", makePlatform(), 0o644))
		must.Succeed(t, os.WriteFile(dashboards+"namespace.json", makeTeam(), 0o644))
	}
	for name, want := range renderFiles(t) {
		name = filepath.Join(manifests, name)
		if *update {
			must.Succeed(t, os.WriteFile(name, []byte(want), 0o644))
		}
		got, err := os.ReadFile(name)
		if err != nil || string(got) != want {
			t.Errorf("%s is not what the chart renders (%v): change the chart and run go test ./test/deploy -run Chart -update", name, err)
		}
	}
}

// M6: so does each form with each component, also if the component patches the form.
func TestChart_isEqualToTheKustomizeForms(t *testing.T) {
	every := slices.Sorted(func(yield func(string) bool) {
		for name := range components {
			if !yield(name) {
				return
			}
		}
	})
	for _, form := range forms {
		sets := [][]string{nil, every}
		if form == "embedded" {
			for _, name := range every {
				if name == "fleet" {
					sets = append(sets, []string{name, "primary"}) // the fleet gets the primary's address
					continue
				}
				sets = append(sets, []string{name})
			}
		}
		for _, set := range sets {
			text, values := "", []string{formValues(form), etcdServers}
			for _, name := range set {
				if component := componentOf(form, name); component != "" {
					text += "- DEPLOY/" + component + "\n"
				}
				values = append(values, components[name])
			}
			if text != "" {
				text = "components:\n" + text
			}
			got, want := map[string]any{}, map[string]any{}
			for _, object := range renderKustomization(t, writeKustomization(t, form, text)) {
				got[object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName()] = object.Object
			}
			for _, object := range decodeObjects(t, renderTemplate(t, values...)) {
				want[object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName()] = object.Object
			}
			namespace := "Namespace /" + kuberig.InstallNamespace
			if got[namespace] == nil || want[namespace] != nil {
				t.Errorf("%s %v: the namespace is with helm or not with kustomize", form, set)
			}
			delete(got, namespace)
			for key := range want {
				if !reflect.DeepEqual(got[key], want[key]) {
					t.Errorf("%s %v: %s\nby kustomize: %v\nby helm: %v", form, set, key, got[key], want[key])
				}
				delete(got, key)
			}
			for key := range got {
				t.Errorf("%s %v: %s is with kustomize alone", form, set, key)
			}
		}
	}
}

// M6: the kustomization shown by component fleet runs servers in a further namespace, with the user's image, as the
// chart's values do.
func TestChart_isEqualToTheShownFleet(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join(manifests, "fleet", "kustomization.yaml")))(t)
	var shown, command string
	for line := range strings.Lines(string(text)) {
		if line, ok := strings.CutPrefix(line, "#   "); ok {
			if strings.HasPrefix(line, "kubectl ") {
				command = strings.TrimSpace(line)
				continue
			}
			shown += line
		}
	}
	dir := t.TempDir()
	base := must.Get(filepath.Abs(manifests))(t)
	relative := must.Get(filepath.Rel(dir, base))(t)
	create := exec.CommandContext(t.Context(), findKubectl(t), strings.Fields(strings.TrimPrefix(command, "kubectl "))...)
	binding, err := create.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, binding)
	}
	for file, text := range map[string]string{"kustomization.yaml": strings.ReplaceAll(shown, "../", relative+"/"), "team-dns.yaml": string(binding)} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	of := func(objects []*unstructured.Unstructured) map[string]any {
		parts := map[string]any{}
		for _, object := range objects {
			switch object.GetKind() {
			case "RoleBinding":
				if object.GetName() == "kubizone-fleet-servers" {
					parts[object.GetNamespace()] = []any{object.Object["roleRef"], object.Object["subjects"]}
				}
			case "Deployment":
				if object.GetName() == "kubizone-fleet" {
					containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
					container := containers[0].(map[string]any)
					arguments, _, _ := unstructured.NestedStringSlice(container, "args")
					slices.Sort(arguments[1:])
					parts["arguments"], parts["image"] = arguments, container["image"]
				}
			}
		}
		return parts
	}
	got := of(renderKustomization(t, dir))
	want := of(decodeObjects(t, renderTemplate(t, "mode=ha", components["primary"], "image.repository=registry.example/kubizone",
		"fleet.enabled=true,fleet.namespaces={dns-system,team-dns}")))
	if len(want) != 4 || !reflect.DeepEqual(got, want) {
		t.Errorf("by kustomize %v\nby helm %v", got, want)
	}
}

// With certManager.issuerRef the given issuer signs the server's certificate, and the chart creates no Issuer and no
// authority of its own.
func TestChart_takesAnIssuerThatIsThere(t *testing.T) {
	for values, want := range map[string]map[string]any{
		"certManager.issuerRef.name=platform":                                                                                 {"group": "cert-manager.io", "kind": "Issuer", "name": "platform"},
		"certManager.issuerRef.name=platform,certManager.issuerRef.kind=ClusterIssuer":                                        {"group": "cert-manager.io", "kind": "ClusterIssuer", "name": "platform"},
		"certManager.issuerRef.name=pca,certManager.issuerRef.kind=PrivateIssuer,certManager.issuerRef.group=pca.example.org": {"group": "pca.example.org", "kind": "PrivateIssuer", "name": "pca"},
	} {
		var certificates []string
		for _, object := range decodeObjects(t, renderTemplate(t, "mode=embedded", components["cert-manager"], values)) {
			switch object.GetKind() {
			case "Issuer":
				t.Errorf("%s: the chart makes the Issuer %s", values, object.GetName())
			case "Certificate":
				certificates = append(certificates, object.GetName())
				if got, _, _ := unstructured.NestedMap(object.Object, "spec", "issuerRef"); !reflect.DeepEqual(got, want) {
					t.Errorf("%s: the issuer is %v, want %v", values, got, want)
				}
			case "APIService":
				if from := object.GetAnnotations()["cert-manager.io/inject-ca-from"]; from != kuberig.InstallNamespace+"/kubizone-apiserver-serving" {
					t.Errorf("%s: caBundle comes from %q", values, from)
				}
			}
		}
		if !slices.Equal(certificates, []string{"kubizone-apiserver-serving"}) {
			t.Errorf("%s: certificates %v, want that of the server alone", values, certificates)
		}
	}
}

// For every program, the chart's values podAnnotations, podLabels, serviceAccountAnnotations, extraEnv and affinity
// reach the pod or the ServiceAccount.
func TestChart_givesEachProgramItsExtras(t *testing.T) {
	programs := []string{"apiserver", "controller", "fleet", "primary"}
	values := []string{"mode=ha", components["controller"], components["fleet"], components["primary"]}
	for _, name := range programs {
		for _, value := range []string{
			"podAnnotations.a=annotation", "podLabels.l=label", "serviceAccountAnnotations.s=account", "extraEnv[0].name=HTTPS_PROXY",
			"extraEnv[0].value=http://proxy:3128", "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight=1",
		} {
			values = append(values, name+"."+value)
		}
	}
	var got []string
	for _, object := range decodeObjects(t, renderTemplate(t, values...)) {
		name := strings.TrimPrefix(object.GetName(), "kubizone-")
		switch object.GetKind() {
		case "ServiceAccount":
			if object.GetAnnotations()["s"] == "account" {
				got = append(got, "account of "+name)
			}
		case "StatefulSet", "Deployment":
			template, _, _ := unstructured.NestedMap(object.Object, "spec", "template")
			pod := convertTo[corev1.PodTemplateSpec](t, &unstructured.Unstructured{Object: template})
			env := pod.Spec.Containers[0].Env
			selected, _, _ := unstructured.NestedString(object.Object, "spec", "selector", "matchLabels", "app.kubernetes.io/name")
			if pod.Annotations["a"] == "annotation" && pod.Labels["l"] == "label" && pod.Labels["app.kubernetes.io/name"] == selected &&
				pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil &&
				slices.Contains(env, corev1.EnvVar{Name: "HTTPS_PROXY", Value: "http://proxy:3128"}) {
				got = append(got, "pod of "+name)
			}
		}
	}
	var want []string
	for _, name := range programs {
		want = append(want, "account of "+name, "pod of "+name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestChart_installsTheVersionOfTheProgram(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join(chart, "Chart.yaml")))(t)
	next := strings.TrimSuffix(version.Number(), "-dev")
	for _, line := range []string{"version: " + next, "appVersion: " + next} {
		if !strings.Contains(string(text), "\n"+line+"\n") {
			t.Errorf("Chart.yaml has no line %q", line)
		}
	}
}
