// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const (
	longTime   = 8 * time.Minute
	agentToken = "the-token-of-the-agent"
)

// tsigKeys are those of the public server, of the signer and of its control channel.
var tsigKeys = map[string]string{"fleet": "fleet.bind9.dns.", "signer": "signer.bind9.dns.", "control": "control.example."}

func secretOf(key string) string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(key[:1], 32)))
}

func keyStatement(key string) string {
	return fmt.Sprintf("key %q { algorithm hmac-sha256; secret %q; };\n", tsigKeys[key], secretOf(key))
}

// signingTimes are those of BIND's policy and of the Bind9Cluster. Answers without signatures leave caches after
// maxZoneTTL, for which the page has a date.
const signingTimes = `dnssec-policy "fast" {
	keys { ksk lifetime unlimited algorithm ecdsap256sha256; zsk lifetime unlimited algorithm ecdsap256sha256; };
	dnskey-ttl PT2S; max-zone-ttl PT15S; parent-ds-ttl PT20S; zone-propagation-delay PT1S; parent-propagation-delay PT1S;
	publish-safety PT1S; retire-safety PT1S;
};
`

// The page of a zone signed by BIND shows the chain from the signer's keys to the DS records in the parent, and while a
// step is due its date.
func TestZone_showsTheChainOfASignedZone(t *testing.T) {
	shared := needStage(t)
	named, err := exec.LookPath("named")
	if err != nil && os.Getenv(requireAll) == "" {
		t.Skip("no named: install Debian's package bind9 (hack/install-peers.sh does)")
	} else if err != nil {
		t.Fatal(err)
	}
	secrets := map[string]string{"agent/token": agentToken}
	for _, key := range []string{"fleet", "signer"} {
		secrets[key+"/name"], secrets[key+"/algorithm"], secrets[key+"/secret"] = tsigKeys[key], "hmac-sha256", secretOf(key)
	}
	s := shared.setAnother(t, secrets)
	s.startSigningFleet(t, named)
	b := s.newTab(t)
	b.visitPage("/zones/net/signed/dnssec")
	b.waitLonger("the signer has signed", func(text string) bool { return strings.Contains(text, "Signed by dns/signer with policy fast") })
	b.waitLonger("the next step has a date", func(text string) bool {
		_, step, _ := strings.Cut(text, "Next step")
		return strings.Contains(step, "the DS records come when") && strings.Contains(step, "at 20") && strings.Contains(step, ", in ")
	})
	b.waitLonger("the parent has the DS", func(text string) bool {
		return strings.Contains(text, "The parent has the DS records of the zone.") && strings.Contains(text, "none: keys roll over")
	})
	var links []string
	b.runActions(chromedp.Evaluate(`[...document.querySelectorAll("ol.chain > li")].map((e) => e.className + " " +
		e.querySelector("h2").textContent + " " + e.querySelectorAll("p.data").length)`, &links))
	if got := strings.Join(links, ", "); got != "ok Parent 1, ok Keys of the zone 1, ok Signatures 0" {
		t.Errorf("the chain is %s", got)
	}
	b.expectSeen("dnssec-signed", "/zones/net/signed/dnssec", true)
	b.visitPage("/zones?sign=signed")
	b.expectText("#live", "signed.example.org.", "1 of 2")
	b.expectPeace()
}

func (b *tab) waitLonger(what string, is func(text string) bool) {
	b.t.Helper()
	text := ""
	for began := time.Now(); time.Since(began) < longTime; time.Sleep(50 * time.Millisecond) {
		if text = b.readText("#live"); is(text) {
			b.t.Logf("%s after %s", what, time.Since(began).Round(time.Millisecond))
			return
		}
	}
	b.t.Fatalf("not so after %s: %s:\n%s", longTime, what, text)
}

// startSigningFleet has Bind9Cluster dns/prod with a signer, its agent and a public server, and the zone
// net/signed below net/parent.
func (s *stage) startSigningFleet(t *testing.T, named string) {
	signer, public, control, agent := freePort(t), freePort(t), freePort(t), freePort(t)
	_, primary, err := net.SplitHostPort(s.dns)
	if err != nil {
		t.Fatal(err)
	}
	const options = "options { directory \"DIR\"; listen-on port %s { 127.0.0.1; }; listen-on-v6 { none; }; recursion no; " +
		"dnssec-validation no; pid-file \"named.pid\"; session-keyfile \"session.key\"; managed-keys-directory \".\"; " +
		"allow-transfer { 127.0.0.0/8; }; %s };\n"
	from := func(port, key string) string { return fmt.Sprintf("127.0.0.1 port %s key %q;", port, tsigKeys[key]) }
	dir := s.runNamed(t, named, keyStatement("fleet")+keyStatement("signer")+keyStatement("control")+
		fmt.Sprintf(options, signer, "allow-new-zones yes; notify explicit; notify-delay 0; allow-notify { key "+tsigKeys["signer"]+"; };")+
		fmt.Sprintf("controls { inet 127.0.0.1 port %s allow { 127.0.0.1; } keys { %q; }; };\n", control, tsigKeys["control"])+
		"primaries \"kubizone\" { "+from(primary, "signer")+" };\n"+signingTimes)
	s.runNamed(t, named, keyStatement("fleet")+
		fmt.Sprintf(options, public, "allow-notify { key "+tsigKeys["fleet"]+"; }; catalog-zones { zone \"catalog.invalid\" "+
			"default-primaries { "+from(primary, "fleet")+" "+from(signer, "fleet")+" } in-memory yes min-update-interval 1; };")+
		"zone \"catalog.invalid\" { type secondary; file \"catalog.db\"; primaries { "+from(primary, "fleet")+" }; min-retry-time 1; };\n")
	token, rndc, tsig := filepath.Join(dir, "token"), filepath.Join(dir, "rndc.key"), filepath.Join(dir, "tsig.key")
	writeFile(t, token, agentToken+"\n")
	writeFile(t, rndc, keyStatement("control"))
	writeFile(t, tsig, keyStatement("signer"))
	runBeside(t, exec.Command(filepath.Join(s.programs, "kubizone"), "bind-agent", "--listen", "127.0.0.1:"+agent, "--token-file", token,
		"--rndc-server", "127.0.0.1:"+control, "--rndc-key-file", rndc, "--dns-server", "127.0.0.1:"+signer, "--tsig-key-file", tsig,
		"--zone-dir", dir))
	fleet := "/apis/bind9.kubi.zone/v1alpha1/namespaces/dns/"
	s.writeObject(t, http.MethodPost, fleet+"bind9clusters", `{"metadata":{"name":"prod"},"spec":{"zoneNamespaces":{"selector":{}},
		"dnssec":{"storage":{"type":"PersistentVolumeClaim","capacity":"1Gi"},"policies":[{"name":"fast","timing":{"dnskeyTTL":"2s",
		"maxZoneTTL":"15s","parentDSTTL":"20s","zonePropagationDelay":"1s","parentPropagationDelay":"1s","publishSafety":"1s"}}]}}}`)
	for _, one := range [][5]string{{"signer", "Signer", signer, agent, "signer"}, {"public", "Secondary", public, "1", "fleet"}} {
		s.writeObject(t, http.MethodPost, fleet+"bind9instances", fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"role":%q,
			"clusterRef":{"name":"prod"},"external":{"address":"127.0.0.1:%s","agentURL":"http://127.0.0.1:%s","allowPlainHTTP":true,
			"tokenSecretRef":{"name":"agent","key":"token"},"tsigSecretName":%q}}}`, one[0], one[1], one[2], one[3], one[4]))
	}
	s.writeObject(t, http.MethodPost, "/dnsclasses", `{"metadata":{"name":"signed"},"spec":{"allowLocalAddresses":true,
		"namespaces":{"selector":{}},"bind9":{"clusterRef":{"namespace":"dns","name":"prod"},"catalogZone":"catalog.invalid."}}}`)
	zone := `{"metadata":{"name":%q},"spec":{"domainName":%q,"ttl":10,"nameServers":[{"name":"ns1","addresses":["192.0.2.53"]}],
		"dnsClassRefs":[{"name":"signed"}]%s}}`
	s.writeObject(t, http.MethodPost, "/namespaces/net/zones", fmt.Sprintf(zone, "parent", "example.org.",
		`,"delegations":[{"namespaces":["net"],"zones":["signed"],"ds":true}]`))
	s.writeObject(t, http.MethodPost, "/namespaces/net/zones", fmt.Sprintf(zone, "signed", "signed.example.org.",
		`,"dnssec":{"policy":"fast"}`))
}

// runNamed starts BIND in a new directory, which replaces DIR in its configuration.
func (s *stage) runNamed(t *testing.T, named, config string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	writeFile(t, filepath.Join(dir, "named.conf"), strings.ReplaceAll(config, "DIR", dir))
	runBeside(t, exec.Command(named, "-g", "-4", "-n", "1", "-c", filepath.Join(dir, "named.conf")))
	return dir
}

func runBeside(t *testing.T, command *exec.Cmd) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout, command.Stderr = log, log
	ended := make(chan struct{})
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = command.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = command.Process.Kill()
		}
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("%s:\n%.6000s", command.Args[0], text)
		}
		_ = log.Close()
	})
	select {
	case <-ended:
		t.Fatalf("%s ended", command.Args[0])
	case <-time.After(300 * time.Millisecond):
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
