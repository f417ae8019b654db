// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/cmd/kubizone/app"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

var update = flag.Bool("update", false, "write testdata/rbac.golden")

var forms = []string{"embedded", "ha", "external-etcd"}

const manifests = "../../artifacts/deploy"

func findKubectl(t *testing.T) string {
	t.Helper()
	program := rig.Need(rig.KubeProgram("kubectl"))(t)
	return program
}

func writeKustomization(t *testing.T, form, further string) string {
	t.Helper()
	dir := t.TempDir()
	base := must.Get(filepath.Abs(manifests))(t)
	// Roots of kustomize are relative.
	relative := must.Get(filepath.Rel(dir, base))(t)
	text := "resources: [" + filepath.Join(relative, form) + "]\n" + strings.ReplaceAll(further, "DEPLOY", relative)
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600))
	return dir
}

func renderKustomization(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	var stderr bytes.Buffer
	command := exec.Command(findKubectl(t), "kustomize", dir)
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("kubectl kustomize %s: %v\n%s", dir, err, &stderr)
	}
	return decodeObjects(t, string(out))
}

func convertTo[T any](t *testing.T, object *unstructured.Unstructured) *T {
	t.Helper()
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, true); err != nil {
		t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
	return typed
}

func findPodTemplate(t *testing.T, objects []*unstructured.Unstructured) corev1.PodTemplateSpec {
	t.Helper()
	for _, object := range objects {
		if object.GetName() != kuberig.ServerName {
			continue
		}
		switch object.GetKind() {
		case "StatefulSet":
			return convertTo[appsv1.StatefulSet](t, object).Spec.Template
		case "Deployment":
			return convertTo[appsv1.Deployment](t, object).Spec.Template
		}
	}
	t.Fatal("no workload")
	return corev1.PodTemplateSpec{}
}

// testdata/rbac.golden lists every right that the manifests and the chart grant, so a review sees each new right. A
// stolen token of controller or primary reads only Secrets of classes, and has no further right of the server (M1,
// attacks 55 and 77).
func TestRBAC_isWhatTheGoldenFileSays(t *testing.T) {
	var got strings.Builder
	for _, form := range forms {
		fmt.Fprintf(&got, "# %s\n%s\n", form, listGrants(t, renderKustomization(t, filepath.Join(manifests, form))))
	}
	fmt.Fprintf(&got, "# embedded with cert-manager\n%s\n",
		listGrants(t, renderKustomization(t, writeKustomization(t, "embedded", "components: [DEPLOY/cert-manager]\n"))))
	fmt.Fprintf(&got, "# controller, primary, Secrets of two classes, those of agents, and Prometheus\n%s",
		listGrants(t, decodeObjects(t, renderTemplate(t, "mode=ha",
			components["controller"], components["primary"], components["monitoring"], "monitoring.prometheus.serviceAccount=prometheus",
			"classes.both.transfer=true,classes.both.secrets.dns={transfer},classes.one.secrets.dns={hook,update},classes.agents.secrets.dns={edge-0-agent}",
		))))
	fmt.Fprintf(&got, "\n# fleet, in one namespace, with a primary, and an account for Gardener\n%s",
		listGrants(t, decodeObjects(t, renderTemplate(t, "mode=ha",
			components["primary"], "fleet.enabled=true,fleet.namespaces={dns-system}",
			"gardener.enabled=true,gardener.namespaces={gardener}",
		))))
	fmt.Fprintf(&got, "\n# fleet, in all namespaces\n%s",
		listGrants(t, decodeObjects(t, renderTemplate(t, "mode=ha", "fleet.enabled=true,fleet.namespaces={*},primary.enabled=true"))))
	fmt.Fprintf(&got, "\n# embedded, with a primary\n%s",
		listGrants(t, decodeObjects(t, renderTemplate(t, formValues("embedded"), components["primary"]))))
	fmt.Fprintf(&got, "\n# the webhook provider of external-dns\n%s",
		listGrants(t, decodeObjects(t, renderTemplate(t, "externalDNS.enabled=true"))))
	fmt.Fprintf(&got, "\n# the solver of challenges, with the caBundle of its registration\n%s",
		listGrants(t, decodeObjects(t, renderTemplate(t, "acme.enabled=true"))))
	const golden = "testdata/rbac.golden"
	if *update {
		must.Succeed(t, os.WriteFile(golden, []byte(got.String()), 0o644))
	}
	want := must.Get(os.ReadFile(golden))(t)
	if got.String() != string(want) {
		t.Errorf("what is granted has changed; if that is meant: go test ./test/deploy -run RBAC -update\n%s", got.String())
	}
}

// TestTokens_standInSecurity: SECURITY.md lists the writes of each ServiceAccount.
func TestTokens_standInSecurity(t *testing.T) {
	page := string(must.Get(os.ReadFile("../../SECURITY.md"))(t))
	_, table, _ := strings.Cut(page, "\n| token of | reads | writes | leads to |\n|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := map[string]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 4 {
			t.Fatalf("a row of %d cells: %s", len(cells), line)
		}
		_, name, _ := strings.Cut(cells[0], "`")
		name, _, _ = strings.Cut(name, "`")
		rows[name] = cells[2]
	}
	unused := maps.Clone(rows)
	grants := string(must.Get(os.ReadFile("testdata/rbac.golden"))(t))
	for _, grant := range regexp.MustCompile(`(?m)^ServiceAccount [^/]*/([^:]*): (.*)$`).FindAllStringSubmatch(grants, -1) {
		row, ok := rows[grant[1]]
		if delete(unused, grant[1]); !ok {
			t.Fatalf("SECURITY.md has no row for the token of %s", grant[1])
		}
		rule := regexp.MustCompile(`: ([a-z,]+) (\S+) in `).FindStringSubmatch(grant[2])
		writes := rule != nil && slices.ContainsFunc(strings.Split(rule[1], ","), func(verb string) bool {
			return !slices.Contains([]string{"get", "list", "watch"}, verb)
		})
		for resource := range strings.SplitSeq(strings.Join(rule[min(len(rule), 2):], ""), ",") {
			if writes && !strings.Contains(row, "`"+resource+"`") {
				t.Errorf("SECURITY.md: the row of %s does not say that it writes %s", grant[1], resource)
			}
		}
	}
	if len(unused) > 0 {
		t.Errorf("SECURITY.md: no ServiceAccount of the chart is named %v", slices.Collect(maps.Keys(unused)))
	}
}

func listGrants(t *testing.T, objects []*unstructured.Unstructured) string {
	rules := map[string][]rbacv1.PolicyRule{}
	for _, object := range objects {
		switch object.GetKind() {
		case "ClusterRole":
			rules["ClusterRole "+object.GetName()] = convertTo[rbacv1.ClusterRole](t, object).Rules
		case "Role":
			rules["Role "+object.GetNamespace()+"/"+object.GetName()] = convertTo[rbacv1.Role](t, object).Rules
		}
	}
	var lines []string
	bound := map[string]bool{}
	add := func(who, role string) {
		bound[role] = true
		if len(rules[role]) == 0 {
			lines = append(lines, who+": "+role)
		}
		for _, rule := range rules[role] {
			lines = append(lines, who+": "+role+": "+describeRule(rule))
		}
	}
	for _, object := range objects {
		var subjects []rbacv1.Subject
		var role string
		switch object.GetKind() {
		case "ClusterRoleBinding":
			binding := convertTo[rbacv1.ClusterRoleBinding](t, object)
			subjects, role = binding.Subjects, "ClusterRole "+binding.RoleRef.Name
		case "RoleBinding":
			binding := convertTo[rbacv1.RoleBinding](t, object)
			subjects, role = binding.Subjects, "Role "+binding.Namespace+"/"+binding.RoleRef.Name
			if binding.RoleRef.Kind == "ClusterRole" {
				bound["ClusterRole "+binding.RoleRef.Name] = true
				rules[role] = rules["ClusterRole "+binding.RoleRef.Name]
			}
		}
		for _, subject := range subjects {
			add(subject.Kind+" "+subject.Namespace+"/"+subject.Name, role)
		}
	}
	for role := range rules {
		if !bound[role] {
			add("nobody", role)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

func describeRule(rule rbacv1.PolicyRule) string {
	names := ""
	if len(rule.ResourceNames) > 0 {
		names = " named " + strings.Join(rule.ResourceNames, ",")
	}
	return fmt.Sprintf("%s %s in %q%s", strings.Join(rule.Verbs, ","), strings.Join(slices.Concat(rule.Resources, rule.NonResourceURLs), ","), strings.Join(rule.APIGroups, ","), names)
}

// The roles meant for tenants give no right beyond their namespace: no write of status, no zones/establish, no classes,
// no wildcards. None is added to Kubernetes' roles view, edit and admin unless the component aggregate-roles is
// installed (attacks 50 and 54).
func TestTenantRoles_holdNoEstablishAndNoStatus(t *testing.T) {
	for name, objects := range map[string][]*unstructured.Unstructured{
		"plain":      renderKustomization(t, filepath.Join(manifests, "ha")),
		"aggregated": renderKustomization(t, writeKustomization(t, "ha", "components: [DEPLOY/aggregate-roles]\n")),
	} {
		into := map[string][]string{}
		for _, object := range objects {
			if object.GetKind() != "ClusterRole" {
				continue
			}
			for label := range object.GetLabels() {
				if role, ok := strings.CutPrefix(label, "rbac.authorization.k8s.io/aggregate-to-"); ok {
					into[role] = append(into[role], object.GetName())
					slices.Sort(into[role])
				}
			}
			switch object.GetName() {
			case "kubizone-apiserver", "kubizone-establisher", "kubizone-bind9-external", "kubizone-class-viewer", "kubizone-operator":
				continue // bound only by an administrator
			}
			for _, rule := range convertTo[rbacv1.ClusterRole](t, object).Rules {
				for _, resource := range rule.Resources {
					if strings.HasSuffix(resource, "/status") || strings.HasSuffix(resource, "/establish") || strings.Contains(resource, "*") || strings.HasPrefix(resource, "dnsclasses") ||
						strings.HasSuffix(resource, "/external") || strings.HasPrefix(resource, "clusterbind9providers") {
						t.Errorf("%s: ClusterRole %s has %s", name, object.GetName(), resource)
					}
				}
				if slices.Contains(rule.Verbs, "*") {
					t.Errorf("%s: ClusterRole %s has the verbs %s", name, object.GetName(), rule.Verbs)
				}
			}
		}
		want := map[string][]string{}
		if name == "aggregated" {
			want = map[string][]string{"view": {"kubizone-bind9-viewer", "kubizone-viewer"}, "edit": {"kubizone-bind9-editor", "kubizone-record-editor"}, "admin": {"kubizone-zone-admin"}}
		}
		if fmt.Sprint(into) != fmt.Sprint(want) {
			t.Errorf("%s: roles aggregated are %v, want %v", name, into, want)
		}
	}
}

// M3: an unknown flag would stop the pods of an upgrade.
func TestArgs_areFlagsOfTheBinary(t *testing.T) {
	const values = "acme.enabled=true,acme.clusterIssuers=true,acme.solver.namespace=certs"
	solver := findPodTemplate(t, decodeObjects(t, renderTemplate(t, values)))
	checkArgs(t, "acme", solver.Spec.Containers)
	if args := solver.Spec.Containers[0].Args; !slices.Contains(args, "--acme") || !slices.Contains(args, "--acme-cluster-issuers=certs") {
		t.Errorf("acme: the server is started with %q", args)
	}
	for _, form := range forms {
		for _, components := range []string{"", "components: [DEPLOY/cert-manager]\n"} {
			pod := findPodTemplate(t, renderKustomization(t, writeKustomization(t, form, components))).Spec
			checkArgs(t, form, slices.Concat(pod.InitContainers, pod.Containers))
		}
	}
}

func checkArgs(t *testing.T, form string, containers []corev1.Container) {
	t.Helper()
	for _, container := range containers {
		for _, arguments := range splitCommands(container.Args) {
			if command := parseCommand(t, arguments); command.Flags().NArg() > 0 || !command.Runnable() {
				t.Errorf("%s: container %s: arguments %q", form, container.Name, command.Flags().Args())
			}
		}
	}
}

// splitCommands returns the sub-commands of a container, which "--" divides.
func splitCommands(arguments []string) (all [][]string) {
	for len(arguments) > 0 {
		end := slices.Index(arguments, "--")
		if end < 0 {
			return append(all, arguments)
		}
		all, arguments = append(all, arguments[:end]), arguments[end+1:]
	}
	return all
}

func parseCommand(t *testing.T, arguments []string) *cobra.Command {
	t.Helper()
	command, rest, err := app.New().Find(arguments)
	if err == nil {
		err = command.ParseFlags(rest)
	}
	if err != nil {
		t.Fatalf("%q: %v", arguments, err)
	}
	return command
}

// The selectors of Service, PodDisruptionBudget and NetworkPolicy match the pod's labels. The pod has all three probes,
// a priority, resources, and root file systems that cannot be written. An APIService trusts only the server's caBundle.
func TestWorkload_isWhatTheOthersSelect(t *testing.T) {
	for _, form := range forms {
		objects := renderKustomization(t, filepath.Join(manifests, form))
		template := findPodTemplate(t, objects)
		labels := template.Labels
		for _, object := range objects {
			var selector map[string]string
			switch object.GetKind() {
			case "APIService":
				if spec := object.Object["spec"].(map[string]any); spec["insecureSkipTLSVerify"] != nil || spec["caBundle"] != nil {
					t.Errorf("%s: %v", form, spec)
				}
			case "Service":
				selector, _, _ = unstructured.NestedStringMap(object.Object, "spec", "selector")
			case "PodDisruptionBudget":
				selector, _, _ = unstructured.NestedStringMap(object.Object, "spec", "selector", "matchLabels")
			case "NetworkPolicy":
				selector, _, _ = unstructured.NestedStringMap(object.Object, "spec", "podSelector", "matchLabels")
			default:
				continue
			}
			for key, value := range selector {
				if labels[key] != value {
					t.Errorf("%s: %s %s selects %s=%s, the pods have %q", form, object.GetKind(), object.GetName(), key, value, labels[key])
				}
			}
		}
		pod := template.Spec
		server := pod.Containers[0]
		if server.StartupProbe == nil || server.LivenessProbe == nil || server.ReadinessProbe == nil {
			t.Errorf("%s: a probe is missing", form)
		}
		if pod.PriorityClassName != "system-cluster-critical" {
			t.Errorf("%s: priority class %q", form, pod.PriorityClassName)
		}
		for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
			if c := container.SecurityContext; c == nil || c.ReadOnlyRootFilesystem == nil || !*c.ReadOnlyRootFilesystem {
				t.Errorf("%s: container %s may write to its image", form, container.Name)
			}
			if container.Resources.Requests.Cpu().IsZero() || container.Resources.Limits.Memory().IsZero() {
				t.Errorf("%s: container %s has no resources", form, container.Name)
			}
		}
	}
}
