// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/noderig"
)

type asker struct {
	mu      sync.Mutex
	counts  map[string]int // by result: "answered", or the error
	samples []string
}

// askThroughout queries each server for each name until stop. expected has the sorted addresses, or the RCODE.
func askThroughout(ctx context.Context, servers []netip.AddrPort, expected map[string]string) (counted *asker, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	a := &asker{counts: map[string]int{}}
	for _, server := range servers {
		for name, want := range expected {
			running.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					client := mdns.Client{Timeout: 30 * time.Second, Dialer: &net.Dialer{LocalAddr: noderig.NextClient()}}
					if n%10 == 9 {
						client.Net, client.Dialer = "tcp", nil
					}
					question := new(mdns.Msg)
					question.SetQuestion(name, mdns.TypeA)
					answer, _, err := client.ExchangeContext(ctx, question, server.String())
					if ctx.Err() != nil {
						return
					}
					got := ""
					switch {
					case err != nil:
						got = err.Error()
					case answer.Rcode != mdns.RcodeSuccess || len(answer.Answer) == 0:
						got = mdns.RcodeToString[answer.Rcode]
					default:
						var addresses []string
						for _, rr := range answer.Answer {
							if a, ok := rr.(*mdns.A); ok {
								addresses = append(addresses, a.A.String())
							}
						}
						slices.Sort(addresses)
						got = strings.Join(addresses, " ")
					}
					a.countAnswer(server, name, got, want)
					// About a hundred queries a second for each name and server: the test's BIND shares two
					// processors.
					select {
					case <-ctx.Done():
					case <-time.After(10 * time.Millisecond):
					}
				}
			})
		}
	}
	return a, func() { cancel(); running.Wait() }
}

func (a *asker) countAnswer(server netip.AddrPort, name, got, want string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if got == want {
		a.counts["answered"]++
		return
	}
	a.counts["wrong or missing"]++
	if len(a.samples) < 20 {
		a.samples = append(a.samples, fmt.Sprintf("%s %s %s: %q, want %q", time.Now().Format("15:04:05.000"), server, name, got, want))
	}
}

func documentBlocks(t *testing.T, document, words string) (yamls, shells []string) {
	t.Helper()
	text := must.Get(os.ReadFile("../../docs/" + document))(t)
	for _, block := range regexp.MustCompile("(?ms)^```(yaml|sh) ("+words+")\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		if block[1] == "yaml" {
			yamls = append(yamls, block[3])
		} else {
			shells = append(shells, block[3])
		}
	}
	return yamls, shells
}

// makeShell has kubectl, as a cluster admin, and kubectl-kubizone in the PATH.
func (w *world) makeShell() (dir string, environment []string) {
	w.t.Helper()
	kubectl := rig.Need(rig.KubeProgram("kubectl"))(w.t)
	dir = w.t.TempDir()
	must.Succeed(w.t, os.Mkdir(filepath.Join(dir, "bin"), 0o700))
	must.Succeed(w.t, os.Symlink(w.client, filepath.Join(dir, "bin", "kubectl-kubizone")))
	must.Succeed(w.t, os.Symlink(kubectl, filepath.Join(dir, "bin", "kubectl")))
	return dir, []string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + dir, "KUBECONFIG=" + w.kube.AdminKubeconfig()}
}

func (w *world) runShell(dir string, environment []string, script string) (string, error) {
	w.t.Helper()
	command := exec.CommandContext(w.ctx, "bash", "-euo", "pipefail", "-c", script)
	command.Dir, command.Env = dir, environment
	out, err := command.CombinedOutput()
	w.t.Logf("$ %s\n%s", strings.TrimSpace(script), out)
	return string(out), err
}

// TestFleet_takesOverFromBindyUnderQueries_S11_10 follows docs/migration-bindy.md by the letter, with a bindy that
// writes its objects until stopped. The import makes the page's objects, and again writes nothing. Throughout, the
// names of bindy's zone are queried at the Services' addresses, and each answer is present and right.
func TestFleet_takesOverFromBindyUnderQueries_S11_10(t *testing.T) {
	w := newWorld(t, "dns")
	yamls, shells := documentBlocks(t, "migration-bindy.md", "bindy|bindy-fleet")
	if len(yamls) != 3 || len(shells) != 8 {
		t.Fatalf("the document has %d blocks of YAML and %d of shell; this test knows 3 and 8", len(yamls), len(shells))
	}
	dir, environment := w.makeShell()
	shell := func(script string) string {
		t.Helper()
		out := must.Get(w.runShell(dir, environment, script))(w.t)
		return out
	}
	// No Record of this bindy is in the namespace shop.
	after := strings.Replace(yamls[1], "\n  - namespace: shop\n    records: [{pattern: blog, types: [CNAME]}]", "", 1)
	for file, text := range map[string]string{"objects.yaml": yamls[0], "after.yaml": after, "servers.yaml": yamls[2]} {
		must.Succeed(w.t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}

	// bindy has objects, an operator that rewrites them, and pods.
	here := must.Get(os.Getwd())(w.t)
	shell(fmt.Sprintf("kubectl apply -f %s/testdata/bindy_crds.yaml", here))
	must.Succeed(w.t, w.kube.WaitDefinitions(rig.Within(t, waitTimeout)))
	shell("kubectl apply -f objects.yaml")
	b := &bindy{w: w, cluster: "production", servers: []string{"production-primary-0", "production-secondary-0"}, owners: map[string]types.UID{}}
	custom := must.Get(dynamic.NewForConfig(w.kube.Admin()))(w.t)
	for _, server := range b.servers {
		made := must.Get(custom.Resource(schema.GroupVersionResource{Group: "bindy.firestoned.io", Version: "v1beta1", Resource: "bind9instances"}).Namespace("dns").Create(w.ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "bindy.firestoned.io/v1beta1", "kind": "Bind9Instance", "metadata": map[string]any{"name": server, "finalizers": []any{"bindy.firestoned.io/bind9instance-finalizer"}},
			"spec": map[string]any{"clusterRef": "production", "role": strings.Split(server, "-")[1]},
		}}, metav1.CreateOptions{}))(w.t)
		b.owners[server] = made.GetUID()
	}
	b.runOperator()
	var servers []netip.AddrPort
	for _, server := range b.servers {
		at := w.findService(server)
		servers = append(servers, at)
		w.waitUntil(server+" answers", func() error {
			_, err := askAddress(w.ctx, at, "ns1.corp.test.")
			return err
		})
	}
	environment = append(environment, "BINDY="+servers[0].String())
	asked, stop := askThroughout(w.ctx, servers, map[string]string{"www.corp.test.": "192.0.2.80 192.0.2.81", "ns1.corp.test.": "192.0.2.1", "none.corp.test.": "NXDOMAIN"})
	defer stop()

	w.runFleetWith(fleet.Config{Namespaces: []string{w.namespace}, Primaries: primaryAt(w.startDelivery())})

	// 1, 2: bindy runs on.
	shell(shells[0])
	shell("kubectl diff --server-side --force-conflicts -f after.yaml") // exits with 1 on a difference
	if out := shell("bash import.sh"); !strings.Contains(out, " 0 written") {
		t.Errorf("the same import again: %s", out)
	}
	// The serial of bindy's servers is ahead, a reported difference until step 3.
	if out, err := w.runShell(dir, environment, shells[1]); err == nil || !regexp.MustCompile(`Ahead +2031010203 +0 +0 +0 `).MatchString(out) {
		t.Errorf("%v: what differs is the serial alone:\n%s", err, out)
	}
	// Its cluster is described while bindy runs: neither side touches the other's objects.
	before := b.readChildren()
	must.Succeed(w.t, b.waitForWrites())
	shell("kubectl apply -f servers.yaml\nkubectl wait bind9clusters.bind9.kubi.zone -n dns production --for=condition=Degraded --timeout=5m")
	must.Succeed(w.t, b.waitForWrites())
	if after := b.readChildren(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("an object of bindy has changed while the fleet was told of its names:\n%v\n%v", before, after)
	}
	// 3: the operator stops after its last write.
	shell(shells[2])
	w.waitUntil("bindy has stopped", func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.running {
			return errStillThere
		}
		return nil
	})
	shell(shells[3])
	// 4: the servers, one after the other.
	shell(shells[4])
	for _, server := range b.servers {
		if err := expectCondition(w.getInstance(server).Status.Conditions, bind9.ConditionDegraded,
			"True/"+fleet.ReasonForeign); err != nil {
			t.Errorf("%s: %v", server, err)
		}
	}
	if after := b.readChildren(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("an object of bindy has changed, and none is annotated:\n%v\n%v", before, after)
	}
	shell(shells[5])
	// 5: bindy's custom resources go, with their dependents.
	shell(shells[6])
	shell(shells[7])
	w.waitUntil("nothing of bindy is left", func() error {
		for i, server := range b.servers {
			pods, err := w.core.CoreV1().Pods("dns").List(w.ctx, metav1.ListOptions{LabelSelector: "app=bind9"})
			if err != nil || len(pods.Items) > 0 {
				return fmt.Errorf("%d pods: %v", len(pods.Items), err)
			}
			service, err := w.core.CoreV1().Services("dns").Get(w.ctx, server, metav1.GetOptions{})
			if err != nil {
				w.t.Fatal(err) // collected as garbage
			}
			if service.Spec.ClusterIP != servers[i].Addr().String() {
				w.t.Fatalf("the Service of %s has the address %s", server, service.Spec.ClusterIP)
			}
		}
		return nil
	})
	shell(`kubectl patch records.kubi.zone -n dns www-a --type=merge -p '{"spec":{"ttl":301}}'` + "\nkubectl wait zones.kubi.zone -n dns corp --for=condition=Ready --timeout=5m")
	stop()
	asked.mu.Lock()
	defer asked.mu.Unlock()
	t.Logf("asked throughout: %v", asked.counts)
	if asked.counts["wrong or missing"] > 0 || asked.counts["answered"] < 500 {
		t.Errorf("answers: %v\n%s", asked.counts, strings.Join(asked.samples, "\n"))
	}
}

// runOperator writes every second, while the operator's Deployment has replicas.
func (b *bindy) runOperator() {
	b.w.t.Helper()
	b.w.node.Leave("bindy-system") // nothing is its program but this test
	_, err := b.w.core.CoreV1().Namespaces().Create(b.w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bindy-system"}}, metav1.CreateOptions{})
	must.Succeed(b.w.t, err)
	labels := map[string]string{"app": "bindy"}
	_, err = b.w.core.AppsV1().Deployments("bindy-system").Create(b.w.ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "bindy"}, Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "bindy", Image: "ghcr.io/firestoned/bindy"}}}},
	}}, metav1.CreateOptions{})
	must.Succeed(b.w.t, err)
	go func() {
		for b.w.ctx.Err() == nil {
			own, err := b.w.core.AppsV1().Deployments("bindy-system").Get(b.w.ctx, "bindy", metav1.GetOptions{})
			if err == nil {
				running := *own.Spec.Replicas > 0
				if running {
					err = b.applyObjects(b.w.ctx)
				}
				b.mu.Lock()
				if b.running = running; running && err == nil {
					b.writes++
				}
				b.mu.Unlock()
			}
			if err != nil && b.w.ctx.Err() == nil {
				b.w.t.Log(err)
			}
			select {
			case <-b.w.ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}()
	must.Succeed(b.w.t, b.waitForWrites())
}

// waitForWrites: twice, because the first round may have begun before.
func (b *bindy) waitForWrites() error {
	count := func() int {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.writes
	}
	first := count()
	b.w.waitUntil("bindy writes its objects", func() error {
		if count() < first+2 {
			return errors.New("it has not")
		}
		return nil
	})
	return nil
}
