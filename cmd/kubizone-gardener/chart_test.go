// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gardencorev1 "github.com/gardener/gardener/pkg/apis/core/v1"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	operatorv1alpha1 "github.com/gardener/gardener/pkg/apis/operator/v1alpha1"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write testdata/rbac.golden anew")

const chart = "charts/kubizone-gardener"

func renderChart(t *testing.T, arguments ...string) string {
	t.Helper()
	tool := exec.Command("hack/build-tool.sh", "helm", "--cached")
	tool.Dir, tool.Env = "../..", productEnvironment()
	helm, err := tool.Output()
	if err != nil {
		if os.Getenv("KUBIZONE_TEST_REQUIRE_ALL") == "" {
			t.Skip("helm is not built: hack/build-tool.sh helm")
		}
		t.Fatal("helm is not built: hack/build-tool.sh helm")
	}
	cmd := exec.Command(strings.TrimSpace(string(helm)), append([]string{"template", name, chart, "-n", "garden"}, arguments...)...)
	cmd.Dir = "../.."
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// The controller's tests run with the rights of the golden file, so the chart's suffice.
func TestChart_grantsTheRightsOfTheGoldenFile(t *testing.T) {
	got := strings.TrimPrefix(regexp.MustCompile(`(?m)^# Source: .*\n`).ReplaceAllString(renderChart(t, "-s", "templates/rbac.yaml"), ""),
		"---\n")
	if *update {
		mustSucceed(t, os.WriteFile("testdata/rbac.golden", []byte(got), 0o644))
	}
	want := mustGet(os.ReadFile("testdata/rbac.golden"))(t)
	if got != string(want) {
		t.Errorf("the chart grants\n%s\nand testdata/rbac.golden has\n%s\ngo test -run Chart -update writes it anew", got, want)
	}
}

func readDeployment(t *testing.T, arguments ...string) *appsv1.Deployment {
	t.Helper()
	for _, document := range strings.Split(renderChart(t, arguments...), "\n---\n") {
		var it appsv1.Deployment
		if yaml.Unmarshal([]byte(document), &it) == nil && it.Kind == "Deployment" {
			return &it
		}
	}
	t.Fatal("the chart has no Deployment")
	return nil
}

func TestChart_startsTheControllerWithFlagsThatItHas(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []string
		want   string // one of the arguments
	}{
		{"a seed", nil, "--extension-classes=seed,shoot"},
		{"the runtime cluster of a garden", []string{"--set", "gardener.runtimeCluster.enabled=true"}, "--extension-classes=garden"},
		{"a Kubizone of the same cluster", []string{"--set", "localNamespaces={gardener,other}"}, "--local-namespaces=gardener,other"},
		{"further types", []string{"--set", "types={kubizone,aws-route53}"}, "--types=kubizone,aws-route53"},
		{"values that gardenlet sets", []string{"--set", "gardener.version=v1.149.3,gardener.seed.name=a,gardener.garden.clusterIdentity=b"}, "--gardener-version=v1.149.3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := readDeployment(t, c.values...).Spec.Template.Spec.Containers[0].Args
			if !slices.Contains(args, c.want) {
				t.Errorf("%q is not among %q", c.want, args)
			}
			if err := newCommand().ParseFlags(args); err != nil {
				t.Error(err)
			}
		})
	}
}

func chartVersion(t *testing.T) string {
	t.Helper()
	text := mustGet(os.ReadFile("../../" + chart + "/Chart.yaml"))(t)
	var it struct {
		AppVersion string `json:"appVersion"`
	}
	mustSucceed(t, yaml.Unmarshal(text, &it))
	return it.AppVersion
}

func TestChart_imageIsThatOfTheVector(t *testing.T) {
	for _, c := range []struct{ values, want string }{
		{"image.repository=registry.example.org/kubizone-gardener", "registry.example.org/kubizone-gardener:" + chartVersion(t)},
		{"image.digest=sha256:abc", "kubizone-gardener@sha256:abc"},
		{"imageVectorOverwrite[0].name=kubizone-gardener,imageVectorOverwrite[0].ref=mirror.example.org/k:v2", "mirror.example.org/k:v2"},
		{"imageVectorOverwrite[0].name=another,imageVectorOverwrite[0].ref=mirror.example.org/k:v2", "kubizone-gardener:" + chartVersion(t)},
	} {
		if got := readDeployment(t, "--set", c.values).Spec.Template.Spec.Containers[0].Image; got != c.want {
			t.Errorf("%s: %s, want %s", c.values, got, c.want)
		}
	}
}

func TestChart_scalesTheDeployment(t *testing.T) {
	var vpa vpav1.VerticalPodAutoscaler
	mustSucceed(t, yaml.UnmarshalStrict([]byte(renderChart(t, "-s", "templates/vpa.yaml")), &vpa))
	of := readDeployment(t)
	if ref := vpa.Spec.TargetRef; ref.Kind != of.Kind || ref.Name != of.Name || ref.APIVersion != of.APIVersion {
		t.Errorf("it scales %+v", ref)
	}
	if policies := vpa.Spec.ResourcePolicy.ContainerPolicies; len(policies) != 1 || policies[0].ContainerName != of.Spec.Template.Spec.Containers[0].Name {
		t.Errorf("policies %+v", policies)
	}
	if strings.Contains(renderChart(t, "--set", "vpa.enabled=false"), "kind: VerticalPodAutoscaler") {
		t.Error("it is there where it is switched off")
	}
}

func readAlertRules(t *testing.T) monitoringv1.PrometheusRuleSpec {
	t.Helper()
	var rule monitoringv1.PrometheusRule
	mustSucceed(t, yaml.UnmarshalStrict([]byte(renderChart(t, "-s", "templates/alerts.yaml")), &rule))
	return rule.Spec
}

// Gardener's Prometheus takes the job from an annotation of the pods.
func TestAlerts_areOfTheJobOfThePods(t *testing.T) {
	job := readDeployment(t).Spec.Template.Annotations["prometheus.io/name"]
	for _, one := range readAlertRules(t).Groups[0].Rules {
		if !strings.Contains(one.Expr.String(), `job="`+job+`"`) {
			t.Errorf("%s is not of job %s: %s", one.Alert, job, one.Expr.String())
		}
	}
}

// Alerts are quiet in a healthy landscape, and fire in a faulty one.
func TestAlerts_ring(t *testing.T) {
	text := mustGet(yaml.Marshal(readAlertRules(t)))(t)
	cases := mustGet(os.ReadFile("testdata/alerts.yaml"))(t)
	dir := t.TempDir()
	for file, text := range map[string][]byte{"rules.yaml": text, "alerts.yaml": cases} {
		mustSucceed(t, os.WriteFile(filepath.Join(dir, file), text, 0o600))
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("KUBIZONE_TEST_REQUIRE_ALL") == "" {
			t.Skip("promtool is not installed: hack/install-peers.sh")
		}
		t.Fatal("promtool is not installed: hack/install-peers.sh")
	}
	if out, err := exec.Command(promtool, "test", "rules", filepath.Join(dir, "alerts.yaml")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, one := range readAlertRules(t).Groups[0].Rules {
		if !strings.Contains(string(cases), `alertname="`+one.Alert+`"`) {
			t.Errorf("testdata/alerts.yaml has no case of %s", one.Alert)
		}
	}
}

// Gardener refuses unknown fields, so each manifest is read strictly.
func TestManifests_areThoseOfGardener(t *testing.T) {
	kinds := map[string]any{}
	files := mustGet(filepath.Glob("../../artifacts/gardener/*.yaml"))(t)
	for _, file := range files {
		text := mustGet(os.ReadFile(file))(t)
		for _, document := range strings.Split(string(text), "\n---\n") {
			var object unstructured.Unstructured
			if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			var into any
			switch object.GetAPIVersion() + " " + object.GetKind() {
			case "operator.gardener.cloud/v1alpha1 Extension":
				into = &operatorv1alpha1.Extension{}
			case "core.gardener.cloud/v1 ControllerDeployment":
				into = &gardencorev1.ControllerDeployment{}
			case "core.gardener.cloud/v1beta1 ControllerRegistration":
				into = &gardencorev1beta1.ControllerRegistration{}
			default:
				t.Fatalf("%s: %s %s", file, object.GetAPIVersion(), object.GetKind())
			}
			if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			kinds[object.GetKind()] = into
		}
	}
	extension, deployment, registration := kinds["Extension"].(*operatorv1alpha1.Extension), kinds["ControllerDeployment"].(*gardencorev1.ControllerDeployment), kinds["ControllerRegistration"].(*gardencorev1beta1.ControllerRegistration)
	for _, resources := range [][]gardencorev1beta1.ControllerResource{extension.Spec.Resources, registration.Spec.Resources} {
		if len(resources) != 1 || resources[0].Kind != "DNSRecord" || resources[0].Type != recordType {
			t.Errorf("resources %+v", resources)
		}
	}
	if of := extension.Spec.Deployment.ExtensionDeployment.Helm.OCIRepository; *of.Ref != *deployment.Helm.OCIRepository.Ref {
		t.Errorf("the manifests name the charts %s and %s", *of.Ref, *deployment.Helm.OCIRepository.Ref)
	}
	if registration.Spec.Deployment.DeploymentRefs[0].Name != deployment.Name {
		t.Errorf("the registration refers to %s, and the deployment is %s", registration.Spec.Deployment.DeploymentRefs[0].Name, deployment.Name)
	}
}

// This module's places of a new version in RELEASE.md.
func TestVersion_isThatOfTheTree(t *testing.T) {
	source := mustGet(os.ReadFile("../../pkg/kit/version/version.go"))(t)
	number := regexp.MustCompile(`(?m)^var number = "(.*)-dev"$`).FindSubmatch(source)
	if number == nil {
		t.Fatal("pkg/kit/version/version.go has no number")
	}
	for file, places := range map[string]string{
		"go.mod":                         `kubi\.zone/kubizone/api v(\S+)`,
		"../../" + chart + "/Chart.yaml": `(?m)^(?:version|appVersion): (\S+)$`,
		"../../artifacts/gardener/extension.yaml":              `kubizone-gardener:(\d\S+)`,
		"../../artifacts/gardener/controllerregistration.yaml": `kubizone-gardener:(\d\S+)`,
		"../../docs/gardener.md":                               `kubizone-gardener:v?(\d\S+)`,
	} {
		text := mustGet(os.ReadFile(file))(t)
		found := regexp.MustCompile(places).FindAllSubmatch(text, -1)
		if len(found) == 0 {
			t.Errorf("%s names no version", file)
		}
		for _, one := range found {
			if string(one[1]) != string(number[1]) {
				t.Errorf("%s has %s, and the tree becomes %s", file, one[1], number[1])
			}
		}
	}
}

// The objects in docs/gardener.md have only fields of Gardener, and the Seed the spec.dns fields that Gardener's
// validation requires (pkg/api/core/validation/seed.go, which needs Kubernetes' API server).
func TestPage_hasFieldsOfGardener(t *testing.T) {
	page := mustGet(os.ReadFile("../../docs/gardener.md"))(t)
	objects := map[string]any{
		"seed": &gardencorev1beta1.Seed{}, "secret": &corev1.Secret{}, "garden": &operatorv1alpha1.Garden{}, "shoot": &gardencorev1beta1.Shoot{},
	}
	for name, into := range objects {
		block := regexp.MustCompile("(?s)```yaml " + name + "\n(.*?)```").FindSubmatch(page)
		if block == nil {
			t.Fatalf("the page has no %s", name)
		}
		if err := yaml.UnmarshalStrict(block[1], into); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	dns := objects["seed"].(*gardencorev1beta1.Seed).Spec.DNS
	if dns.Internal == nil || dns.Provider == nil || len(dns.Defaults) == 0 {
		t.Errorf("a Seed needs internal, with spec.ingress provider, and shoots defaults: %+v", dns)
	}
	for _, one := range append(dns.Defaults, *dns.Internal) {
		if one.Type != recordType || one.Domain == "" || one.CredentialsRef.Kind != "Secret" {
			t.Errorf("the Seed: %+v", one)
		}
	}
}
