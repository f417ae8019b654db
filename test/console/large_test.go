// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// largePages have a text of each state of the zone team/large: its server does not answer, or all is current.
var largePages = []struct{ name, path, waiting, current string }{
	{"overview", "/", "large.example.", "large.example."},
	{"records", "/records?namespace=team", "100 Records", "100 Records"},
	{"not Ready", "/records?state=not+Ready", "100 Records", "0 Records"},
	{"by name", "/zones/team/large?search=h00099", "h000990.large.example.", "h000990.large.example."},
	{"by prefix", "/zones/team/large?search=10.0.7.0/24", "10.0.7.7", "10.0.7.7"},
	{"no result", "/zones/team/large?search=nowhere", "0 entries", "0 entries"},
}

// setLarge starts a kubizone up with the zone team/large of number Records, whose server does not answer.
func (s *stage) setLarge(t testing.TB, number int) *tab {
	t.Helper()
	s = s.setAnother(t, map[string]string{"transfer/name": tsigKeys["fleet"], "transfer/algorithm": "hmac-sha256",
		"transfer/secret": secretOf("fleet")})
	var file strings.Builder
	file.WriteString("$ORIGIN large.example.\n$TTL 300\n@ IN SOA ns1 host 1 3600 600 86400 300\n@ IN NS ns1\nns1 IN A 192.0.2.53\n")
	for i := range number {
		fmt.Fprintf(&file, "h%06d IN A 10.%d.%d.%d\n", i, i>>16, i>>8&255, i&255)
	}
	path := filepath.Join(t.TempDir(), "large.example.zone")
	writeFile(t, path, file.String())
	s.writeObject(t, http.MethodPost, "/dnsclasses", `{"metadata":{"name":"silent"},"spec":{"allowLocalAddresses":true,
		"namespaces":{"selector":{}},
		"transfer":{"tsigSecretRef":{"namespace":"dns","name":"transfer"},"secondaries":[{"address":"127.0.0.1:1"}]}}}`)
	s.writeObject(t, http.MethodPost, "/namespaces/team/zones", `{"metadata":{"name":"large"},"spec":{"domainName":"large.example.",
		"ttl":300,"nameServers":[{"name":"ns1","addresses":["192.0.2.53"]}],"dnsClassRefs":[{"name":"silent"}],
		"delegations":[{"namespace":"team","records":[{"pattern":"*"}]}]}}`)
	load := exec.Command(filepath.Join(s.programs, "kubectl-kubizone"), "import", path, "--zone", "team/large", "--kubeconfig",
		filepath.Join(s.dir, "data", "kubeconfig"))
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("import: %v\n%s", err, out)
	}
	b := s.newTab(t)
	b.visitPage("/")
	b.expectText("#live", "Only the first 200 of records.kubi.zone are counted", "Records that are not ready")
	return b
}

// makeCurrent takes the server from the class, and waits until all Records are current.
func (b *tab) makeCurrent() {
	b.t.Helper()
	b.stage.writeObject(b.t, http.MethodPatch, "/dnsclasses/silent", `{"spec":{"transfer":{"secondaries":[]}}}`)
	b.visitPage("/")
	b.waitLonger("all Records are current", func(text string) bool {
		return strings.Contains(text, "large.example.") && !strings.Contains(text, "Records that are not ready")
	})
}

// changeZones makes a zone while the first page is open, waits until the page has it, and deletes the zone.
func (b *tab) changeZones() {
	b.t.Helper()
	b.stage.writeObject(b.t, http.MethodPost, "/namespaces/team/zones",
		`{"metadata":{"name":"change"},"spec":{"domainName":"change.example.","nameServers":[{"name":"ns.example.net."}]}}`)
	b.expectText("#live", "change.example.")
	b.stage.writeObject(b.t, http.MethodDelete, "/namespaces/team/zones/change", "")
	b.waitFor("the zone is gone", func() bool { return !strings.Contains(b.readText("#live"), "change.example.") })
}

// Pages have the Records of a zone with more than a page shows. BenchmarkLargeZone says how fast.
func TestLargeZone_isShown(t *testing.T) {
	b := needStage(t).setLarge(t, 2_000)
	for _, current := range []bool{false, true} {
		if current {
			b.makeCurrent()
		}
		for _, page := range largePages {
			b.visitPage(page.path)
			b.expectText("main", map[bool]string{false: page.waiting, true: page.current}[current])
		}
	}
	b.visitPage("/")
	b.changeZones()
	b.expectPeace()
}

// The time until a page of a zone of 10,000 Records (100,000 with KUBIZONE_TEST_LONG) is loaded, and until the first
// page shows a new zone and its deletion.
func BenchmarkLargeZone(b *testing.B) {
	number := 10_000
	if os.Getenv("KUBIZONE_TEST_LONG") != "" {
		number = 100_000
	}
	tab := needStage(b).setLarge(b, number)
	for _, state := range []string{"waiting", "current"} {
		if state == "current" {
			tab.makeCurrent()
		}
		for _, page := range largePages {
			b.Run(state+"/"+page.name, func(b *testing.B) {
				for b.Loop() {
					tab.visitPage(page.path)
				}
			})
		}
		tab.visitPage("/")
		b.Run(state+"/change", func(b *testing.B) {
			for b.Loop() {
				tab.changeZones()
			}
		})
	}
}
