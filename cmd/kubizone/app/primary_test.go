// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubizone/primary"
	"kubi.zone/kubizone/cmd/kubizone/up"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/standalone"
)

func findLine(t *testing.T, s *must.Output, ended <-chan error, pattern string) string {
	t.Helper()
	expression := regexp.MustCompile(`(?m)` + pattern)
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if found := expression.FindStringSubmatch(s.String()); found != nil {
			return found[1]
		}
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v\n%s", err, s)
		default:
		}
	}
	t.Fatalf("no line matches %s in\n%s", pattern, s)
	return ""
}

func runUntilEnd(t *testing.T, run func(ctx context.Context) error) (ended chan error, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended = make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("told to stop, it ends with %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("told to stop, it does not")
		}
	})
	t.Cleanup(stop)
	return ended, stop
}

func completeOptions(t *testing.T, out io.Writer, arguments ...string) (*primary.Config, error) {
	t.Helper()
	o := primary.NewOptions()
	flags := pflag.NewFlagSet("primary", pflag.ContinueOnError)
	o.AddFlags(flags)
	must.Succeed(t, flags.Parse(append([]string{"--dns-listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"}, arguments...)))
	return o.Complete(out)
}

func getPage(t *testing.T, url string) (int, string) {
	t.Helper()
	answer := must.Get(http.Get(url))(t)
	defer answer.Body.Close()
	body := must.Get(io.ReadAll(answer.Body))(t)
	return answer.StatusCode, string(body)
}

var fqdn = name.MustParse("example.org.")

// Views follow writes with a delay.
func transferredWith(t *testing.T, server, want string) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		text, err := transfer.Receive(t.Context(), transfer.Source{Server: server, Zone: fqdn})
		if err == nil && strings.Contains(string(text), want) {
			return string(text)
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s has no %s: %v\n%s", server, want, err, text)
		}
	}
}

// A remote primary serves the server's zones, follows changes, and continues without the server (2).
func TestPrimary_servesWhatTheAPIHas(t *testing.T) {
	t.Parallel()
	at := must.Get(rig.FreePort())(t)
	a := standalone.Start(t, func(o *up.Options) { o.DNSListen = at.String() })
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "org"}, Spec: v1alpha1.ZoneSpec{
		DomainName: "example.org.", NameServers: []v1alpha1.NameServer{{Name: "ns", Addresses: []string{"192.0.2.53"}}},
		Delegations: []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}},
	}}
	must.Get(a.KubizoneV1alpha1().Zones("a").Create(t.Context(), zone, metav1.CreateOptions{}))(t)
	add := func(name string) {
		record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RecordSpec{DomainName: name + ".example.org.", Type: "TXT", RData: `"of the API"`}}
		must.Get(a.KubizoneV1alpha1().Records("a").Create(t.Context(), record, metav1.CreateOptions{}))(t)
	}
	add("first")

	out := &must.Output{}
	config := must.Get(completeOptions(t, out, "--kubeconfig", a.Kubeconfig))(t)
	ended, stop := runUntilEnd(t, config.Run)
	health := "http://" + findLine(t, out, ended, `^health on (\S+),`)
	dns := findLine(t, out, ended, `^ready: DNS on (\S+)$`)
	if code, body := getPage(t, health+"/readyz"); code != http.StatusOK {
		t.Errorf("/readyz: %d %s", code, body)
	}
	if got, want := transferredWith(t, dns, "first.example.org."), transferredWith(t, at.String(), "first.example.org."); got != want {
		t.Errorf("the primary has\n%s\nthe server\n%s", got, want)
	}
	add("second")
	want := transferredWith(t, dns, "second.example.org.")

	a.Stop()
	if got := string(must.Get(transfer.Receive(t.Context(), transfer.Source{Server: dns, Zone: fqdn}))(t)); got != want {
		t.Errorf("without the API the primary has\n%s", got)
	}
	if code, _ := getPage(t, health+"/readyz"); code != http.StatusOK {
		t.Errorf("/readyz without the API: %d", code)
	}
	if code, body := getPage(t, health+"/metrics"); code != http.StatusOK || strings.Contains(body, "example.org") ||
		strings.Contains(body, `"org"`) {
		t.Errorf("/metrics: %d %s", code, body)
	}
	stop()
	if conn, err := net.Dial("tcp", dns); err == nil {
		conn.Close()
		t.Error("it listens after it has stopped")
	}
}

// While a primary has not read the zones yet, it is alive but not ready, and does not report itself as ready. If it
// does not reach the API, it says so and asks about the kubeconfig (properties 1 and 4).
func TestPrimary_isSilentBeforeTheZonesAreIn(t *testing.T) {
	t.Parallel()
	nobody := must.Get(rig.FreePort())(t) // without a listener
	file := must.WriteKubeconfig(t, "https://"+nobody.String())
	out := &must.Output{}
	config := must.Get(completeOptions(t, out, "--kubeconfig", file))(t)
	ended, stop := runUntilEnd(t, config.Run)
	health := "http://" + findLine(t, out, ended, `^health on (\S+),`)
	if code, _ := getPage(t, health+"/livez"); code != http.StatusOK {
		t.Errorf("/livez: %d", code)
	}
	if code, body := getPage(t, health+"/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "being read") {
		t.Errorf("/readyz: %d %s", code, body)
	}
	findLine(t, out, ended, `^(waiting for the API): .*; does the kubeconfig name the server`)
	stop()
	if strings.Contains(out.String(), "ready: ") {
		t.Errorf("said:\n%s", out)
	}
}

func TestPrimary_saysAllThatIsWrong(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	_, err := completeOptions(t, io.Discard, "--dns-listen", "5300", "--health-listen", "nowhere:1", "--kubeconfig", missing, "--dns-view",
		"A", "--transfer-to", "ns.example.org", "--tsig-key-file", missing)
	must.Say(t, err, `--dns-listen "5300"`, `--health-listen "nowhere:1"`, "kubeconfig: ", `--dns-view "A"`, `--transfer-to "ns.example.org"`, "--tsig-key-file: ")
	if _, err := os.Stat(missing); !os.IsNotExist(err) {
		t.Error("something was made")
	}
}
