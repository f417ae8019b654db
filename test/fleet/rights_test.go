// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fleet

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/test/metrics"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/alertrig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// TestCommand_needsTheRightsOfTheChartAlone: `kubizone fleet` with the chart's rights creates and removes a
// provider's servers in its namespaces.
func TestCommand_needsTheRightsOfTheChartAlone(t *testing.T) {
	w := newWorld(t, "granted")
	helm, err := rig.Tool("helm")
	rig.SkipMissing(t, err)
	kubectl, err := rig.KubeProgram("kubectl")
	rig.SkipMissing(t, err)
	w.runKubelet(w.namespace)
	must.Get(w.core.CoreV1().Namespaces().Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "not-granted"}}, metav1.CreateOptions{}))(w.t)
	manifest, err := exec.CommandContext(w.ctx, helm, "template", "kubizone", "../../charts/kubizone", "-n", kuberig.InstallNamespace, "-s", "templates/fleet/rbac.yaml",
		"--set", "image.repository=kubizone,fleet.enabled=true,fleet.namespaces={"+w.namespace+"}").Output()
	must.Succeed(w.t, err)
	apply := exec.CommandContext(w.ctx, kubectl, "--kubeconfig", w.kube.AdminKubeconfig(), "apply", "-f", "-")
	apply.Stdin = strings.NewReader(string(manifest))
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	account := must.Get(w.kube.ServiceAccount(w.ctx, kuberig.InstallNamespace, "kubizone-fleet"))(w.t)
	process := w.startProgram(account, "fleet", "--lease", kuberig.InstallNamespace+"/kubizone-fleet",
		"--server-namespace", w.namespace, "--agent-image", "registry.example/kubizone:v0",
		"--key-reader", kuberig.InstallNamespace+"/reader", "--signer-agent-reader", kuberig.InstallNamespace+"/asker", "-v=1")
	providers := w.kubizone.Bind9V1alpha1().ClusterBind9Providers()
	must.Get(providers.Create(w.ctx, &bind9.ClusterBind9Provider{ObjectMeta: metav1.ObjectMeta{Name: "granted"}, Spec: bind9.ClusterBind9ProviderSpec{
		Namespaces: []string{w.namespace}, Bind9ClusterSpec: bind9.Bind9ClusterSpec{
			Primary: &bind9.RoleSettings{Replicas: 1}, Secondary: &bind9.RoleSettings{Replicas: 1},
			DNSSEC: &bind9.ClusterDNSSEC{Storage: &bind9.Storage{Type: bind9.StoragePersistentVolumeClaim, Capacity: "1Gi"}},
		},
	}}, metav1.CreateOptions{}))(w.t)
	w.waitProvider("granted", "True")
	w.waitUntil("metrics have the ready servers", func() error { return w.checkMetrics(process) })
	// The primary reads keys; the controller also reads the token of the signer's agent.
	w.checkReader(w.namespace, "reader", []string{"granted-tsig", "granted-signer-0-tsig"}, "granted-primary-0-agent", "granted-primary-0-rndc-key", "granted-signer-0-agent")
	w.checkReader(w.namespace, "asker", []string{"granted-signer-0-agent"}, "granted-primary-0-agent", "granted-signer-0-rndc-key")
	w.waitUntil("an Event says so", func() error {
		list, err := w.core.EventsV1().Events(w.namespace).List(w.ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, event := range list.Items {
			if event.Regarding.Kind == "Bind9Instance" && event.Reason == "AllReady" {
				return nil
			}
		}
		return errors.New("there is none")
	})
	elsewhere := w.kubizone.Bind9V1alpha1().Bind9Instances("not-granted")
	must.Get(elsewhere.Create(w.ctx, &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Name: "ns1"}, Spec: bind9.Bind9InstanceSpec{Role: bind9.RoleSecondary}}, metav1.CreateOptions{}))(w.t)
	w.waitInstanceOf("not-granted", "ns1", bind9.ConditionReady, "False/NamespaceNotCovered")
	servers := alertrig.Series{}
	servers.Scrape(http.DefaultClient, "kubizone-fleet", "it", "http://"+healthAt.FindStringSubmatch(process.Log())[1]+"/metrics")
	maps.DeleteFunc(servers, func(series string, _ float64) bool {
		return strings.Contains(series, "namespace=") && !strings.Contains(series, `namespace="not-granted"`)
	})
	alertrig.State{Now: servers}.ExpectOf(t, "KubizoneServerNotReady", "KubizoneServerNotReady not-granted")
	must.Succeed(w.t, elsewhere.Delete(w.ctx, "ns1", metav1.DeleteOptions{}))
	must.Succeed(w.t, providers.Delete(w.ctx, "granted", metav1.DeleteOptions{}))
	w.waitNoProvider("granted")
	if left := w.listMade(w.namespace); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if log := process.Log(); strings.Contains(log, "forbidden") {
		t.Errorf("a right is missing:\n%s", log)
	}
}

// checkReader checks that a ServiceAccount of --key-reader or --signer-agent-reader reads only the granted Secrets
// (S11.31).
func (w *world) checkReader(namespace, reader string, granted []string, others ...string) {
	w.t.Helper()
	account := must.Get(w.kube.ServiceAccount(w.ctx, kuberig.InstallNamespace, reader))(w.t)
	config := must.Get(clientcmd.BuildConfigFromFlags("", account))(w.t)
	client := must.Get(kubernetes.NewForConfig(config))(w.t)
	secrets := client.CoreV1().Secrets(namespace)
	for _, secret := range granted {
		w.waitUntil(reader+" reads "+secret, func() error {
			_, err := secrets.Get(w.ctx, secret, metav1.GetOptions{})
			return err
		})
	}
	for _, other := range others {
		if _, err := w.core.CoreV1().Secrets(namespace).Get(w.ctx, other, metav1.GetOptions{}); err != nil {
			w.t.Error(err)
		}
		if _, err := secrets.Get(w.ctx, other, metav1.GetOptions{}); !apierrors.IsForbidden(err) {
			w.t.Errorf("%s asks for %s: %v", reader, other, err)
		}
	}
	if _, err := secrets.List(w.ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		w.t.Errorf("%s lists Secrets: %v", reader, err)
	}
}

var healthAt = regexp.MustCompile(`health on (\S+),`)

// checkMetrics compares the metrics of a fleet with the Bind9Instances of all tests.
func (w *world) checkMetrics(process *rig.Process) error {
	at := healthAt.FindStringSubmatch(process.Log())
	if at == nil {
		return errors.New("the process does not say where its metrics are")
	}
	answer, err := http.Get("http://" + at[1] + "/metrics")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	served, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	instances, err := w.kubizone.Bind9V1alpha1().Bind9Instances("").List(w.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	ready := map[bind9.Role]int{bind9.RolePrimary: 0, bind9.RoleSecondary: 0, bind9.RoleSigner: 0}
	for _, instance := range instances.Items {
		if meta.IsStatusConditionTrue(instance.Status.Conditions, bind9.ConditionReady) {
			ready[instance.Spec.Role]++
		}
	}
	for role, n := range ready {
		series := fmt.Sprintf("\nkubizone_fleet_servers{ready=\"true\",role=%q} %d\n", strings.ToLower(string(role)), n)
		if !strings.Contains(string(served), series) {
			return fmt.Errorf("no %q in\n%s", series, served)
		}
	}
	if wrong := metrics.Check("fleet", string(served)); len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}
