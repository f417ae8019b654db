// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// taker is a webhook server that keeps what it gets, and lets a test stop it in the middle.
type taker struct {
	mu sync.Mutex
	// posts are the values in the order in which they came, stands what is there now, by name.
	posts  []string
	stands map[string]string
	// stop is called with each value before it is taken.
	stop func(value string)
}

func (h *taker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	yes := true
	answer := func(value any) { _ = json.NewEncoder(w).Encode(value) }
	if r.Method == http.MethodGet {
		answer(protocol.Health{Status: protocol.Healthy})
		return
	}
	var request protocol.Request
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		value := strings.Join(request.Record.Values, " ")
		h.mu.Lock()
		stop := h.stop
		h.mu.Unlock()
		if stop != nil {
			stop(value)
		}
		h.mu.Lock()
		h.posts = append(h.posts, value)
		h.stands[request.Record.Subdomain] = value
		h.mu.Unlock()
	}
	answer(protocol.Response{Success: &yes, Record: &request.Record})
}

func (h *taker) set(stop func(string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stop = stop
}

func (h *taker) count(value string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, one := range h.posts {
		if one == value {
			n++
		}
	}
	return n
}

func (h *taker) now() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.stands)
}

// F22 with processes: the controller that leads is stopped (SIGSTOP) in the middle of a plan, another one leads and
// delivers a newer one, and the first wakes: it writes nothing, and ends. Then the metrics of the one that works.
func TestController_pausedWritesNothingWhenItWakes_F22(t *testing.T) {
	c := need(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*waitTimeout)
	defer cancel()
	kubectl := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(ctx, c.kubectl, append([]string{"--kubeconfig", c.kube.AdminKubeconfig()}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	account, err := c.kube.ServiceAccount(ctx, kuberig.InstallNamespace, "kubizone-controller")
	if err != nil {
		t.Fatal(err)
	}
	kubectl("", "apply", "-f", "../../artifacts/deploy/controller/rbac.yaml")
	const namespace, records = "paused", 10
	if err := c.kube.Namespace(ctx, namespace); err != nil {
		t.Fatal(err)
	}
	hook := &taker{stands: map[string]string{}}
	server := httptest.NewServer(hook)
	defer server.Close()
	defer hook.set(nil)

	start := func() *beside {
		b := runBeside(t, c.kubizone, "controller", "--kubeconfig", account, "--health-listen", "127.0.0.1:0",
			"--lease-duration", lease, "--record-retry-base-delay", "1s", "-v=1")
		eventually(t, "a controller is ready", func() bool { return strings.Contains(b.said(), "\nready") })
		return b
	}
	first := start()
	eventually(t, "it leads", func() bool { return strings.Contains(first.said(), "\nleading") })
	second := start()
	value := func(version int) string {
		var all strings.Builder
		for i := range records {
			fmt.Fprintf(&all, "---\n{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: r%d, namespace: %s}, spec: {domainName: r%d, zoneRef: {name: main}, type: A, rdata: 192.0.2.%d}}\n", i, namespace, i, version)
		}
		return all.String()
	}
	kubectl(fmt.Sprintf(`
{apiVersion: kubi.zone/v1alpha1, kind: DNSClass, metadata: {name: paused}, spec: {namespaces: {names: [%[1]s]}, allowLocalAddresses: true, webhook: {server: "%[2]s"}}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Zone, metadata: {name: main, namespace: %[1]s}, spec: {domainName: paused.example., dnsClassRefs: [{name: paused}],
  nameServers: [{name: ns.example.net.}], delegations: [{namespace: %[1]s, records: [{pattern: "*"}]}]}}
`, namespace, server.URL)+value(1), "apply", "-f", "-")
	kubectl("", "wait", "-n", namespace, "--for=condition=Ready", "zones,records", "--all", "--timeout=120s")

	// One change is held in flight until ten more are there, so that these become one plan; that one stops after its
	// first write.
	held, release, stopped := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var once, again sync.Once
	hook.set(func(value string) {
		if value == "192.0.2.9" {
			once.Do(func() { close(held) })
			<-release
		}
	})
	kubectl("", "patch", "record", "r0", "-n", namespace, "--type=merge", "-p", `{"spec":{"rdata":"192.0.2.9"}}`)
	<-held
	kubectl(value(2), "apply", "-f", "-")
	hook.set(func(value string) {
		if value != "192.0.2.2" {
			return
		}
		again.Do(func() {
			if err := first.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Error(err)
			}
			close(stopped)
		})
	})
	close(release)
	<-stopped
	old := hook.count("192.0.2.2")
	if old >= records {
		t.Fatalf("%d writes of the old plan before the pause: it is through", old)
	}
	kubectl(value(3), "apply", "-f", "-")
	eventually(t, "the other one leads", func() bool { return strings.Contains(second.said(), "\nleading") })
	kubectl("", "wait", "-n", namespace, "--for=condition=Ready", "zones,records", "--all", "--timeout=120s")
	before := hook.count("192.0.2.2")

	if err := first.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := <-first.done; err == nil {
		t.Error("the first one ended as if it had been told to")
	}
	if wrote := hook.count("192.0.2.2") - before; wrote != 0 {
		t.Errorf("it wrote %d RRsets of its old plan after it woke", wrote)
	}
	for name, value := range hook.now() {
		if strings.HasPrefix(name, "r") && value != "192.0.2.3" {
			t.Errorf("%s is %s", name, value)
		}
	}
	if strings.Contains(first.said(), "panic") {
		t.Error("the first one crashed")
	}

	// The words of the working process about itself.
	health := regexp.MustCompile(`health on (\S+),`).FindStringSubmatch(second.said())
	if health == nil {
		t.Fatal("it does not say where its health is")
	}
	wanted := []string{
		`kubizone_delivery_zones{class="paused"} 1`, `kubizone_delivery_failing{class="paused"} 0`, `kubizone_delivery_queue_depth{class="paused"} 0`,
		`kubizone_delivery_lag_serials{class="paused"} 0`, `kubizone_delivery_oldest_change_seconds{class="paused"} 0`,
		`kubizone_delivery_secondaries_behind{class="paused"} 0`, `kubizone_delivery_takeovers_total{class="paused"} 1`,
		`kubizone_delivery_calls_total{class="paused",code="",method="Deliver",provider="webhook",reason=""}`, `kubizone_delivery_lag_seconds_count{class="paused"}`,
	}
	var text string
	lacks := func(want string) bool { return !strings.Contains(text, want) }
	rig.Until(within(t, waitTimeout), t, "/metrics of the one that leads", func() error { // a look at the class can be under way
		response, err := http.Get("http://" + health[1] + "/metrics")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		read, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		text = string(read)
		if at := slices.IndexFunc(wanted, lacks); at >= 0 {
			return fmt.Errorf("it has no %s", wanted[at])
		}
		return nil
	})
	for line := range strings.Lines(text) {
		if strings.Contains(line, "paused.example") || strings.Contains(line, `"r1"`) {
			t.Errorf("a zone or a record in the metrics: %s", line)
		}
	}
	kubectl("", "delete", "namespace", namespace, namespaceTimeout)
	kubectl("", "delete", "dnsclass", "paused", "--timeout=2m")
}
