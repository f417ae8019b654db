// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

func readFormat(t *testing.T, client string, at netip.AddrPort, zone string, key rig.TSIGKey, transfers bool) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join("../../cmd/kubectl-kubizone/updatekey/formats", client+".txt")))(t)
	parsed := must.Get(template.New(client).Option("missingkey=error").Funcs(template.FuncMap{
		"upper":  strings.ToUpper,
		"undash": func(text string) string { return strings.ReplaceAll(text, "-", "") },
		"bare":   func(text string) string { return strings.TrimSuffix(text, ".") },
	}).Parse(strings.Replace(string(text), "{{lists by AXFR}}", "", 1)))(t) // the note of a key without transfer
	var out strings.Builder
	must.Succeed(t, parsed.Execute(&out, map[string]any{"Host": at.Addr(), "Port": at.Port(), "Zone": zone, "Key": key.Name,
		"Algorithm": key.Algorithm, "Secret": key.Secret, "SecretName": "", "Transfers": transfers}))
	return out.String()
}

func (u *updated) runClient(env []string, program string, args ...string) (string, error) {
	u.t.Helper()
	command := exec.CommandContext(rig.Within(u.t, 3*time.Minute), program, args...)
	command.Dir = u.t.TempDir()
	command.Env = append(append(os.Environ(), "HOME="+command.Dir), env...)
	output, err := command.CombinedOutput()
	return string(output), err
}

// The objects and commands of docs/updates.md run, with the output on the page. test/cluster/testdata/updatekey.txtar
// runs those that need Secrets of a cluster.
func TestUpdatesPage_isTrue(t *testing.T) {
	t.Parallel()
	kubectl := rig.Need(rig.KubeProgram("kubectl"))(t)
	const page = "../../docs/updates.md"
	u := &updated{secrets: t.TempDir()}
	u.running = runUp(t, t.TempDir(), "--secrets-dir", u.secrets)
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "example-org"}, Spec: v1alpha1.ZoneSpec{
		DomainName: "example.org.", NameServers: []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}}}}
	must.Get(u.client.KubizoneV1alpha1().Zones("dns").Create(t.Context(), zone, metav1.CreateOptions{}))(t)
	key := rig.TSIGKey{Name: "acme.team-a.", Algorithm: "hmac-sha256", Secret: updateSecret}
	u.writeSecret("team-a", "acme-tsig", key)
	dir := t.TempDir()
	must.Succeed(t, os.Symlink(kubectl, filepath.Join(dir, "kubectl")))
	shell := rig.Shell{Dir: dir, Kubeconfig: filepath.Join(u.dir, "kubeconfig")}
	for _, object := range must.Get(rig.ReadObjects(page))(t) {
		must.Get(shell.Run(rig.Within(t, time.Minute), "kubectl apply -f -", object))(t)
	}
	u.waitForReason("team-a", "acme", "Served")
	at := netip.MustParseAddrPort(u.dns)
	for _, step := range must.Get(rig.ReadConsole(page, ""))(t) {
		switch words := strings.Fields(step.Line); {
		case words[1] == "kubizone" && words[3] == "create":
		case words[1] == "kubizone":
			text := readFormat(t, words[len(words)-3], at, "example.org", key, false)
			must.Succeed(t, os.WriteFile(filepath.Join(dir, words[len(words)-1]), []byte(text), 0o600))
		default:
			line := strings.Replace(step.Line, "192.0.2.1 53", fmt.Sprint(at.Addr(), " ", at.Port()), 1)
			message := must.Get(shell.Run(rig.Within(t, time.Minute), line, ""))(t)
			if normalizeText(message) != normalizeText(step.Output) {
				t.Errorf("$ %s%s\nthe page has\n%s", step.Line, message, step.Output)
			}
		}
	}
	if has := u.readRecords("team-a"); has != "www.apps A 300 192.0.2.80" {
		t.Errorf("team-a has %q", has)
	}
}

// certified is an updated server with the zone example.net, an ACME server, and a BIND that serves the zone to all, and
// forwards updates. The hidden primary answers unsigned queries only from the BIND.
type certified struct {
	*updated
	bind         *rig.BIND
	primary      netip.AddrPort
	acme         *rig.Pebble
	teamA, teamB rig.TSIGKey
}

// The BIND's source address differs from that of updating clients.
const bindSource = "127.0.0.2"

func runCertified(t *testing.T) *certified {
	t.Helper()
	at := must.Get(rig.FreePort())(t)
	c := &certified{updated: runUpdated(t, t.TempDir(), "--transfer-allow", bindSource, "--transfer-to", at.String())}
	c.primary = netip.MustParseAddrPort(c.dns)
	only := func(pattern string) []v1alpha1.RecordDelegation {
		return []v1alpha1.RecordDelegation{{Pattern: pattern, Types: []string{"TXT"}}}
	}
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "example-net"}, Spec: v1alpha1.ZoneSpec{
		DomainName: "example.net.", NameServers: []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}},
		Delegations: []v1alpha1.DelegationRule{{Namespace: "team-a", Records: only("_acme-challenge.*.a")},
			{Namespace: "team-b", Records: only("_acme-challenge.*.b")}}}}
	must.Get(c.client.KubizoneV1alpha1().Zones("dns").Create(t.Context(), zone, metav1.CreateOptions{}))(t)
	challenges := []v1alpha1.UpdateKeyRecords{{Pattern: "_acme-challenge.*.a.example.net.", Types: []string{"TXT"}}}
	c.teamA = c.makeKeyOf("team-a", "acme", v1alpha1.UpdateKeySpec{Records: challenges})
	c.teamB = c.makeKeyOf("team-b", "acme", v1alpha1.UpdateKeySpec{Records: challenges})
	c.bind = rig.NeedServer(rig.StartBIND(t.Context(), rig.BINDConfig{Addr: at,
		Options:     "transfer-source " + bindSource + ";\n\tallow-update-forwarding { any; };\n",
		Secondaries: []rig.SecondaryZone{{Zone: "example.net.", Primary: c.primary}}}))(t)
	serial := func() (uint32, error) {
		zone, err := c.client.KubizoneV1alpha1().Zones("dns").Get(t.Context(), "example-net", metav1.GetOptions{})
		if err != nil {
			return 0, err
		}
		return uint32(zone.Status.Serial), nil
	}
	c.acme = rig.NeedServer(rig.StartPebble(t.Context(), rig.PebbleConfig{Zone: "example.net.", Primary: c.primary, From: bindSource,
		Serial: serial}))(t)
	return c
}

func (c *certified) checkCertificate(file string, names ...string) {
	c.t.Helper()
	block, _ := pem.Decode(must.Get(os.ReadFile(file))(c.t))
	cert := must.Get(x509.ParseCertificate(block.Bytes))(c.t)
	if slices.Sort(cert.DNSNames); !slices.Equal(cert.DNSNames, names) || !strings.Contains(cert.Issuer.CommonName, "Pebble") {
		c.t.Errorf("the certificate is for %v, by %s", cert.DNSNames, cert.Issuer)
	}
	if left := c.readRecords("team-a"); left != "" {
		c.t.Errorf("the client has left %s", left)
	}
}

func (c *certified) runCertbot(program string, at netip.AddrPort, key rig.TSIGKey, signs bool, names ...string) (file, message string,
	err error) {
	c.t.Helper()
	dir := c.t.TempDir()
	credentials, text := filepath.Join(dir, "credentials.ini"), readFormat(c.t, "certbot", at, "example.net", key, false)
	if !signs {
		text = strings.Replace(text, "sign_query = true", "sign_query = false", 1)
	}
	must.Succeed(c.t, os.WriteFile(credentials, []byte(text), 0o600))
	args := []string{"certonly", "--non-interactive", "--agree-tos", "--register-unsafely-without-email", "--server", c.acme.Directory,
		"--config-dir", dir, "--work-dir", dir, "--logs-dir", dir, "--authenticator", "dns-rfc2136", "--dns-rfc2136-credentials",
		credentials, "--dns-rfc2136-propagation-seconds", "0", "--cert-name", "got", "-d", strings.Join(names, ",")}
	message, err = c.runClient([]string{"REQUESTS_CA_BUNDLE=" + c.acme.Root}, program, args...)
	return filepath.Join(dir, "live", "got", "cert.pem"), message, err
}

func (c *certified) runLego(program string, at netip.AddrPort, key rig.TSIGKey, names ...string) (file, message string, err error) {
	c.t.Helper()
	dir := c.t.TempDir()
	env := []string{"LEGO_CA_CERTIFICATES=" + c.acme.Root, "RFC2136_SEQUENCE_INTERVAL=1", "RFC2136_POLLING_INTERVAL=1",
		"RFC2136_DNS_TIMEOUT=60"}
	for line := range strings.Lines(readFormat(c.t, "lego", at, "example.net", key, false)) {
		if !strings.HasPrefix(line, "#") {
			env = append(env, strings.TrimSpace(line))
		}
	}
	args := []string{"--accept-tos", "--email", "team@example.net", "--server", c.acme.Directory, "--path", dir, "--dns", "rfc2136",
		"--dns.disable-cp", "--dns.resolvers", c.acme.Resolver.String()}
	for _, name := range names {
		args = append(args, "--domains", name)
	}
	message, err = c.runClient(env, program, append(args, "run")...)
	return filepath.Join(dir, "certificates", strings.ReplaceAll(names[0], "*", "_")+".crt"), message, err
}

// certbot and lego get certificates from a real ACME server with an UpdateKey for challenges only (S13.1). certbot
// signs its SOA query, so the hidden primary is enough; this lego does not, is refused there, and works through a
// secondary that forwards updates. Another tenant's key gets no certificate (S13.7).
func TestUpdateClients_getCertificates_S13_1(t *testing.T) {
	t.Parallel()
	certbot := rig.Need(rig.Find("certbot", "hack/install-peers.sh"))(t)
	lego := rig.Need(rig.Find("lego", "hack/install-peers.sh"))(t)
	c := runCertified(t)
	c.checkClient("certbot", func(key rig.TSIGKey, names ...string) (string, string, error) {
		return c.runCertbot(certbot, c.primary, key, true, names...)
	})
	c.checkClient("lego", func(key rig.TSIGKey, names ...string) (string, string, error) {
		return c.runLego(lego, c.bind.Addr, key, names...)
	})
	if _, message, err := c.runLego(lego, c.primary, c.teamA, "www.a.example.net"); err == nil || !strings.Contains(message, "REFUSED") {
		t.Errorf("lego at the hidden primary: %v\n%s", err, message)
	}
	is := must.Get(c.client.KubizoneV1alpha1().UpdateKeys("team-b").Get(t.Context(), "acme", metav1.GetOptions{}))(t)
	if last := is.Status.LastRefusal; last == nil || !strings.Contains(last.Message, "_acme-challenge.www.a") {
		t.Errorf("team-b/acme does not say what was refused: %+v", last)
	}
}

// checkClient requires a certificate for a name and its wildcard, whose challenges have one name, and none with another
// tenant's key. The long form has a certificate for each alone, too.
func (c *certified) checkClient(client string, run func(key rig.TSIGKey, names ...string) (file, message string, err error)) {
	c.t.Helper()
	sets := [][]string{{"*.www.a.example.net", "www.a.example.net"}}
	if rig.Long() {
		sets = append(sets, []string{"www.a.example.net"}, []string{"*.www.a.example.net"})
	}
	for _, names := range sets {
		file, message, err := run(c.teamA, names...)
		if err != nil {
			c.t.Fatalf("%s, %v: %v\n%s", client, names, err, message)
		}
		c.checkCertificate(file, names...)
	}
	file, message, err := run(c.teamB, "www.a.example.net")
	if _, none := os.Stat(file); err == nil || none == nil || !strings.Contains(message, "REFUSED") {
		c.t.Errorf("%s by another tenant: %v\n%s", client, err, message)
	}
}

func (c *certified) runLego5(program string, at netip.AddrPort, key rig.TSIGKey, names ...string) (file, message string, err error) {
	c.t.Helper()
	env := []string{"LEGO_CA_CERTIFICATES=" + c.acme.Root, "DNSUPDATE_SEQUENCE_INTERVAL=1", "DNSUPDATE_POLLING_INTERVAL=1",
		"DNSUPDATE_DNS_TIMEOUT=60", "DNSUPDATE_ZONES=example.net"}
	for line := range strings.Lines(readFormat(c.t, "lego", at, "example.net", key, false)) {
		if variable, ok := strings.CutPrefix(line, "RFC2136_"); ok {
			env = append(env, "DNSUPDATE_"+strings.TrimSpace(variable))
		}
	}
	file = filepath.Join(c.t.TempDir(), "cert.pem")
	message, err = c.runClient(env, program, append([]string{c.acme.Directory, c.acme.Resolver.String(), file}, names...)...)
	return file, message, err
}

// The present versions of certbot and lego sign their SOA query or send none, so they get certificates with the hidden
// primary alone, without a secondary (S13.1, S13.8).
func TestUpdateClients_getCertificatesOfTheHiddenPrimary_S13_8(t *testing.T) {
	t.Parallel()
	python := rig.Need(rig.PythonPrograms())(t)
	lego := rig.Need(rig.GitOpsProgram("lego", "lego5"))(t)
	c := runCertified(t)
	certbot := filepath.Join(python, "certbot")
	c.checkClient("certbot", func(key rig.TSIGKey, names ...string) (string, string, error) {
		return c.runCertbot(certbot, c.primary, key, true, names...)
	})
	c.checkClient("lego", func(key rig.TSIGKey, names ...string) (string, string, error) {
		return c.runLego5(lego, c.primary, key, names...)
	})
	// The secondary lacks the key: certbot must not sign there.
	c.checkClient("certbot", func(key rig.TSIGKey, names ...string) (string, string, error) {
		return c.runCertbot(certbot, c.bind.Addr, key, false, names...)
	})
	_, message, err := c.runCertbot(certbot, c.primary, c.teamA, false, "www.a.example.net")
	if err == nil || !strings.Contains(message, "Unable to determine base domain") {
		t.Errorf("certbot asks the hidden primary unsigned: %v\n%s", err, message)
	}
}

// D2 gets leases from a DHCP server: the number of octets, then JSON.
func sendLease(t *testing.T, to netip.AddrPort, remove bool, dhcid, address string) {
	t.Helper()
	change := 0
	if remove {
		change = 1
	}
	text := fmt.Sprintf(`{"change-type": %d, "forward-change": true, "reverse-change": true, "fqdn": "h.apps.example.org.",
		"ip-address": %q, "dhcid": %q, "lease-expires-on": "20991231235959", "lease-length": 1800, "use-conflict-resolution": true}`,
		change, address, dhcid)
	connection := must.Get(net.Dial("udp", to.String()))(t)
	defer connection.Close()
	must.Get(connection.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(text))), text...)))(t)
}

// S13.4, S13.6: Kea's D2 writes the names of leases: address, DHCID and pointer. Another host cannot take a name in
// use; a host's records go with the lease.
func TestUpdateClients_writeLeases_S13_6(t *testing.T) {
	t.Parallel()
	program := rig.Need(rig.Find("kea-dhcp-ddns", "hack/install-peers.sh"))(t)
	u := runUpdated(t, t.TempDir())
	reverse := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "reverse"}, Spec: v1alpha1.ZoneSpec{
		DomainName: "2.0.192.in-addr.arpa.", NameServers: []v1alpha1.NameServer{{Name: "ns1.example.org."}},
		Delegations: []v1alpha1.DelegationRule{{Namespace: "team-a", Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}}}}
	must.Get(u.client.KubizoneV1alpha1().Zones("dns").Create(t.Context(), reverse, metav1.CreateOptions{}))(t)
	key := u.makeKeyOf("team-a", "dhcp", v1alpha1.UpdateKeySpec{Records: []v1alpha1.UpdateKeyRecords{
		{Pattern: "*.apps.example.org.", Types: []string{"A", "AAAA", "DHCID"}},
		{Pattern: "*.2.0.192.in-addr.arpa.", Types: []string{"PTR", "DHCID"}}}})
	dir, at, server := t.TempDir(), must.Get(rig.FreePort())(t), netip.MustParseAddrPort(u.dns)
	_, domains, _ := strings.Cut(readFormat(t, "kea", server, "2.0.192.in-addr.arpa", key, false), `"forward-ddns"`)
	config := filepath.Join(dir, "d2.conf")
	must.Succeed(t, os.WriteFile(config, fmt.Appendf(nil, `{"DhcpDdns": {"ip-address": "127.0.0.1", "port": %d,
"loggers": [{"name": "kea-dhcp-ddns", "severity": "INFO", "output_options": [{"output": "stdout"}]}],
"reverse-ddns"%s, %s}}`, at.Port(), domains, readFormat(t, "kea", server, "example.org", key, false)), 0o600))
	d2 := must.Get(rig.StartProcess([]string{"KEA_PIDFILE_DIR=" + dir, "KEA_LOCKFILE_DIR=" + dir}, dir, program, "-c", config))(t)
	t.Cleanup(d2.End)
	waitUntil(t, "D2 is up", func() bool { return strings.Contains(d2.Log(), "DHCP_DDNS_STARTED") })
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(d2.Log())
		}
	})
	const one, other = "0001010A0B0C", "0001010D0E0F"
	const ofOne = "AAEBCgsM" // in zone file form
	first := "20.2.0.192.in-addr.arpa. DHCID 1800 " + ofOne + "; 20.2.0.192.in-addr.arpa. PTR 1800 h.apps.example.org."
	second := strings.ReplaceAll(first, "20.2.0", "22.2.0")
	forward := func(address string) string { return "; h.apps A 1800 " + address + "; h.apps DHCID 1800 " + ofOne }
	for _, step := range []struct {
		remove         bool
		dhcid, address string
		logs, then     string
	}{
		{false, one, "192.0.2.20", "DHCP_DDNS_ADD_SUCCEEDED", first + forward("192.0.2.20")},
		{false, other, "192.0.2.21", "DHCP_DDNS_ADD_FAILED", first + forward("192.0.2.20")}, // another host has the name
		{false, one, "192.0.2.22", "DHCP_DDNS_ADD_SUCCEEDED", first + "; " + second + forward("192.0.2.22")},
		{true, other, "192.0.2.22", "DHCP_DDNS_REMOVE_FAILED", first + "; " + second + forward("192.0.2.22")},
		{true, one, "192.0.2.22", "DHCP_DDNS_REMOVE_SUCCEEDED", first},
	} {
		before := strings.Count(d2.Log(), step.logs)
		sendLease(t, at, step.remove, step.dhcid, step.address)
		waitUntil(t, "D2 logs "+step.logs, func() bool { return strings.Count(d2.Log(), step.logs) > before })
		if then := u.readRecords("team-a"); then != step.then {
			t.Errorf("%+v: team-a has %s", step, then)
		}
	}
}

// The zone's namespace and team-a may write all names of example.net.
func runOwned(t *testing.T) *updated {
	u := runUpdated(t, t.TempDir())
	all := []v1alpha1.RecordDelegation{{Pattern: "*"}}
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "example-net"}, Spec: v1alpha1.ZoneSpec{
		DomainName: "example.net.", NameServers: []v1alpha1.NameServer{{Name: "ns1.example.org."}},
		Delegations: []v1alpha1.DelegationRule{{Namespace: "dns", Records: all}, {Namespace: "team-a", Records: all}}}}
	must.Get(u.client.KubizoneV1alpha1().Zones("dns").Create(t.Context(), zone, metav1.CreateOptions{}))(t)
	return u
}

// octoDNS reads the zone by a key with transfer: Zone, writes the differences from its files, and plans no change in a
// second run. The deletion of a Record made by kubectl is REFUSED, because updates delete only what updates have made
// (S13.5, S13.8).
func TestUpdateClients_syncByOctoDNS_S13_5(t *testing.T) {
	t.Parallel()
	python := rig.Need(rig.PythonPrograms())(t)
	u := runOwned(t)
	key := u.makeKey("dns", "octodns", v1alpha1.UpdateTransferZone, "*.example.net.")
	dir := t.TempDir()
	config := filepath.Join(dir, "octodns.yaml")
	text := readFormat(t, "octodns", netip.MustParseAddrPort(u.dns), "example.net", key, true) +
		"  files: {class: octodns.provider.yaml.YamlProvider, directory: " + dir + ", enforce_order: false}\n" +
		"zones:\n  example.net.: {sources: [files], targets: [kubizone]}\n"
	must.Succeed(t, os.WriteFile(config, []byte(text), 0o600))
	sync := func(zone string) (string, error) {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, "example.net.yaml"), []byte(zone), 0o600))
		return u.runClient(nil, filepath.Join(python, "octodns-sync"), "--config-file", config, "--doit", "--force")
	}
	for _, step := range []struct{ zone, then, want string }{
		{"www: {type: A, ttl: 60, values: [192.0.2.1, 192.0.2.2]}\nmail: {type: TXT, ttl: 60, value: v=spf1 -all}\n",
			`mail.example.net. TXT 60 "v=spf1 -all"; www.example.net. A 60 192.0.2.1 192.0.2.2`, "Create"},
		{"www: {type: A, ttl: 60, values: [192.0.2.1, 192.0.2.2]}\nmail: {type: TXT, ttl: 60, value: v=spf1 -all}\n",
			`mail.example.net. TXT 60 "v=spf1 -all"; www.example.net. A 60 192.0.2.1 192.0.2.2`, "No changes were planned"},
		{"www: {type: A, ttl: 90, value: 192.0.2.3}\n", "www.example.net. A 90 192.0.2.3", "Update"},
	} {
		message, err := sync(step.zone)
		if then := u.readRecords("dns"); err != nil || then != step.then || !strings.Contains(message, step.want) {
			t.Fatalf("octoDNS: %v, dns has %s, want %s\n%s", err, then, step.then, message)
		}
	}
	u.makeRecord("static", "static.example.net.", "192.0.2.9")
	if message, err := sync("www: {type: A, ttl: 90, value: 192.0.2.3}\n"); err == nil || !strings.Contains(message, "REFUSED") {
		t.Errorf("octoDNS deletes what kubectl made: %v\n%s", err, message)
	}
}

// Ansible's module nsupdate reads the present data by prerequisites and signed queries. The module writes differences,
// and reports no change in a second run (S13.4, S13.8).
func TestUpdateClients_byAnsible_S13_8(t *testing.T) {
	t.Parallel()
	program := rig.Need(rig.Find("ansible-playbook", "KUBIZONE_TEST_LONG=1 hack/install-peers.sh"))(t)
	u := runOwned(t)
	key := u.makeKey("team-a", "ansible", "", "*.example.net.")
	task := readFormat(t, "ansible", netip.MustParseAddrPort(u.dns), "example.net", key, false)
	playbook := filepath.Join(t.TempDir(), "play.yaml")
	for _, step := range []struct{ task, want, then string }{
		{task, "changed=1 ", "www.example.net. A 3600 192.0.2.80"},
		{task, "changed=0 ", "www.example.net. A 3600 192.0.2.80"},
		{strings.ReplaceAll(task, "192.0.2.80", "192.0.2.81"), "changed=1 ", "www.example.net. A 3600 192.0.2.81"},
		{task + "    state: absent\n", "changed=1 ", ""},
	} {
		text := "- hosts: localhost\n  connection: local\n  gather_facts: false\n  tasks:\n" +
			strings.ReplaceAll("  "+strings.TrimSpace(step.task), "\n", "\n  ")
		must.Succeed(t, os.WriteFile(playbook, []byte(text), 0o600))
		message, err := u.runClient([]string{"ANSIBLE_NOCOLOR=1", "LC_ALL=C.UTF-8"}, program, playbook)
		if then := u.readRecords("team-a"); err != nil || !strings.Contains(message, step.want) || then != step.then {
			t.Errorf("%v, team-a has %s, want %s and %s\n%s", err, then, step.then, step.want, message)
		}
	}
}

// S13.8: external-dns with its rfc2136 provider writes the hosts of Ingresses, changes nothing without a change, and
// removes old hosts. Records that no update made stay, although it lists by AXFR with policy sync.
func TestUpdateClients_byExternalDNS_S13_8(t *testing.T) {
	t.Parallel()
	program := rig.Need(rig.Tool("external-dns"))(t)
	kube := rig.Need(kuberig.StartKube(t.Context(), t.TempDir(), kuberig.KubeConfig{}))(t)
	t.Cleanup(func() { _ = kube.Close() })
	config := must.Get(clientcmd.BuildConfigFromFlags("", kube.AdminKubeconfig()))(t)
	ingresses := must.Get(kubernetes.NewForConfig(config))(t).NetworkingV1().Ingresses("default")
	makeIngress := func(name, address string) {
		of := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: name + ".apps.example.org"}}}}
		of = must.Get(ingresses.Create(t.Context(), of, metav1.CreateOptions{}))(t)
		of.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: address}}
		must.Get(ingresses.UpdateStatus(t.Context(), of, metav1.UpdateOptions{}))(t)
	}
	u := runUpdated(t, t.TempDir())
	key := u.makeKey("team-a", "external", v1alpha1.UpdateTransferOwn, "*.apps.example.org.")
	static := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "static"},
		Spec: v1alpha1.RecordSpec{DomainName: "fix.apps.example.org.", Type: "A", RData: "192.0.2.99"}}
	must.Get(u.client.KubizoneV1alpha1().Records("team-a").Create(t.Context(), static, metav1.CreateOptions{}))(t)
	args := strings.Fields(readFormat(t, "external-dns", netip.MustParseAddrPort(u.dns), "example.org", key, true))
	args = append(args, "--source=ingress", "--kubeconfig="+kube.AdminKubeconfig(), "--policy=sync", "--once")
	const fix, api, www = "fix.apps A 192.0.2.99", "api.apps A 60 192.0.2.2", "www.apps A 60 192.0.2.1"
	text := func(host string) string {
		return fmt.Sprintf(`a-%[1]s.apps TXT 60 "heritage=external-dns,external-dns/owner=here,`+
			`external-dns/resource=ingress/default/%[1]s"`, host)
	}
	for _, registry := range []struct {
		args        []string
		both, alone string
	}{
		{[]string{"--registry=noop"}, api + "; " + fix + "; " + www, fix + "; " + www},
		{[]string{"--registry=txt", "--txt-owner-id=here"}, text("api") + "; " + text("www") + "; " + api + "; " + fix + "; " + www,
			text("www") + "; " + fix + "; " + www},
	} {
		sync := func(want string) (versions string) {
			message, err := u.runClient(nil, program, append(args, registry.args...)...)
			if got := u.readRecords("team-a"); err != nil || got != want {
				t.Fatalf("%v: %v, team-a has %s, want %s\n%s", registry.args, err, got, want, message)
			}
			for _, r := range must.Get(u.client.KubizoneV1alpha1().Records("team-a").List(t.Context(), metav1.ListOptions{}))(t).Items {
				versions += r.ResourceVersion + " "
			}
			return versions
		}
		makeIngress("www", "192.0.2.1")
		makeIngress("api", "192.0.2.2")
		if made, again := sync(registry.both), sync(registry.both); made != again {
			t.Errorf("%v: a run without changes writes: %s, before %s", registry.args, again, made)
		}
		must.Succeed(t, ingresses.Delete(t.Context(), "api", metav1.DeleteOptions{}))
		sync(registry.alone)
		must.Succeed(t, ingresses.Delete(t.Context(), "www", metav1.DeleteOptions{}))
		sync(fix)
	}
}
