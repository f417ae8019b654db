// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class_delivered

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/pki"
	"kubi.zone/kubizone/test/rig"
)

// outside is a Bind9Instance that stands for a named and an agent of this machine, as processes.
type outside struct {
	s       *server
	t       *testing.T
	name    string
	named   *rig.BIND
	agent   *rig.Process
	listen  netip.AddrPort
	program string // that the agent is a sub-command of
	dir     string
	control rig.Control
	key     rig.TSIGKey
}

// write puts a file below the directory of the instance.
func (o *outside) write(file, text string) string {
	o.t.Helper()
	path := filepath.Join(o.dir, file)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		o.t.Fatal(err)
	}
	return path
}

// rotate has the server read another token, and the agent take it alone.
func (o *outside) rotate(token string) {
	o.t.Helper()
	secret := filepath.Join(o.s.secrets(), "dns", o.name+"-token")
	if err := os.MkdirAll(secret, 0o700); err != nil {
		o.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(secret, "token"), []byte(token), 0o600); err != nil {
		o.t.Fatal(err)
	}
	o.write("token", token)
}

func (o *outside) startAgent() {
	o.t.Helper()
	var err error
	o.agent, err = rig.StartProcess(nil, o.dir, o.program, "bind-agent", "--listen", o.listen.String(), "--tls-cert-file", "tls.crt", "--tls-private-key-file", "tls.key", "--token-file", "token",
		"--rndc-server", o.control.Addr.String(), "--rndc-key-file", "rndc.key", "--dns-server", o.named.Addr.String(), "--tsig-key-file", "tsig.key", "--zone-dir", o.named.Dir())
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(o.agent.End)
}

// outside makes a server of the class whose label its instance has.
func (s *server) outside(t *testing.T, program, name, class string, role bind9.Role, catalog string, key rig.TSIGKey) *outside {
	t.Helper()
	control, err := rig.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	o := &outside{s: s, t: t, program: program, name: name, dir: t.TempDir(), key: key, control: rig.Control{Addr: control, Key: rig.TSIGKey{Name: "control", Algorithm: "hmac-sha256", Secret: base64.StdEncoding.EncodeToString([]byte(strings.Repeat("c", 32)))}}}
	if o.listen, err = rig.FreePort(); err != nil {
		t.Fatal(err)
	}
	config := rig.BINDConfig{Keys: []rig.TSIGKey{key}, Controls: []rig.Control{o.control}, Notify: true, Options: "allow-new-zones yes; serial-query-rate 1000;\n"}
	if catalog != "" {
		config.Catalogs = []rig.SecondaryZone{{Zone: catalog, Primary: s.dns, Key: key.Name}}
	}
	o.named, err = rig.StartBIND(t.Context(), config)
	rig.SkipMissing(t, err)
	t.Cleanup(func() { o.named.Close() })
	authority, err := pki.Issue(nil, pki.Authority(name), time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	serving, err := pki.Issue(authority, pki.Serving(name, []string{"127.0.0.1"}), time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	o.write("tls.crt", string(serving.CertPEM))
	o.write("tls.key", string(serving.KeyPEM))
	o.write("rndc.key", o.control.Key.Statement())
	o.write("tsig.key", key.Statement())
	o.rotate("first-token-of-" + name)
	s.keep(t, name+"-tsig", key)
	o.startAgent()
	instance := &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: name, Labels: map[string]string{"class": class}}, Spec: bind9.Bind9InstanceSpec{Role: role}}
	instance.Spec.ZoneNamespaces = &bind9.NamespaceSelection{Selector: &metav1.LabelSelector{}}
	instance.Spec.External = &bind9.ExternalServer{
		Address: o.named.Addr.String(), AgentURL: "https://" + o.listen.String(), CABundle: authority.CertPEM,
		TokenSecretRef: &bind9.SecretKeyReference{Name: name + "-token", Key: "token"}, TSIGSecretName: name + "-tsig",
	}
	if _, err := s.Bind9V1alpha1().Bind9Instances("dns").Create(t.Context(), instance, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return o
}

// has waits until the server answers a text, "" for a zone that it does not have.
func (o *outside) has(fqdn, want string) {
	o.t.Helper()
	until(o.t, func() (bool, string) {
		text, there, err := answer(o.named.Addr, fqdn)
		return err == nil && text == want && there == (want != ""), fmt.Sprintf("%s has %q for %s (zone there: %v): %v; %s", o.name, text, fqdn, there, err, o.s.deliveries(o.t))
	})
}

// rows are those of the Delivery of a zone, once it has rows for exactly these servers.
func (s *server) rows(t *testing.T, class, zone string, want ...string) map[string]v1alpha1.DeliveryServer {
	t.Helper()
	rows := map[string]v1alpha1.DeliveryServer{}
	until(t, func() (bool, string) {
		list, err := s.KubizoneV1alpha1().Deliveries("team").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		clear(rows)
		var names []string
		for _, one := range list.Items {
			if one.Spec.Zone.Name == zone && one.Spec.ClassRef.Name == class {
				for _, row := range one.Status.Servers {
					rows[row.Name], names = row, append(names, row.Name)
				}
			}
		}
		slices.Sort(names)
		return slices.Equal(names, want), fmt.Sprintf("rows %q, want %q", names, want)
	})
	return rows
}

// TestServers_inEachMode: two servers that run elsewhere get, change and lose zones in each mode; with an agent away
// zones that are there change on; a rotated token and a restarted controller lose nothing; a server that the class does
// not select any more loses its zones, also where that happened while no controller ran (S11.14, S11.15).
func TestServers_inEachMode_S11_15(t *testing.T) {
	program, err := rig.Kubizone(t.Context(), t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []v1alpha1.Bind9Mode{v1alpha1.Bind9ModeCatalog, v1alpha1.Bind9ModeTransfer, v1alpha1.Bind9ModeUpdate} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			inMode(t, program, mode)
		})
	}
}

func inMode(t *testing.T, program string, mode v1alpha1.Bind9Mode) {
	s := start(t)
	byCatalog := mode == v1alpha1.Bind9ModeCatalog
	block := &v1alpha1.Bind9Provider{Mode: mode, InstancesFrom: []v1alpha1.Bind9InstanceSelection{{Namespaces: []string{"dns"}, Selector: metav1.LabelSelector{MatchLabels: map[string]string{"class": "vms"}}}}}
	switch mode {
	case v1alpha1.Bind9ModeCatalog:
		block.CatalogZone = "catalog.example."
	case v1alpha1.Bind9ModeTransfer:
		block.Primaries = []string{s.dns.String()}
	}
	if _, err := s.KubizoneV1alpha1().DNSClasses().Create(t.Context(), &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "vms"}, Spec: v1alpha1.DNSClassSpec{
		AllowLocalAddresses: true, Namespaces: &v1alpha1.NamespaceSelection{Selector: &metav1.LabelSelector{}}, Bind9: block,
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	key := rig.TSIGKey{Name: "vms.example", Algorithm: "hmac-sha256", Secret: base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))}
	one := s.outside(t, program, "one", "vms", bind9.RolePrimary, block.CatalogZone, key)
	two := s.outside(t, program, "two", "vms", bind9.RoleSecondary, block.CatalogZone, key)

	s.zone(t, "first", "first.example.", "vms")
	s.record(t, "a", "a.first.example.", "before")
	s.ready(t, "a")
	one.has("a.first.example.", "before")
	two.has("a.first.example.", "before")
	s.change(t, "a", "after")
	s.ready(t, "a")
	one.has("a.first.example.", "after")
	two.has("a.first.example.", "after")
	s.rows(t, "vms", "first", "dns/one", "dns/two")

	// Its agent is away: what the server has changes on, and what it lacks has a row that says why.
	two.agent.End()
	s.change(t, "a", "without the agent")
	s.ready(t, "a")
	two.has("a.first.example.", "without the agent")
	s.zone(t, "second", "second.example.", "vms")
	s.record(t, "b", "b.second.example.", "new")
	one.has("b.second.example.", "new")
	if !byCatalog {
		until(t, func() (bool, string) {
			row := s.rows(t, "vms", "second", "dns/one", "dns/two")["dns/two"]
			return row.State == v1alpha1.ServerFailed && strings.Contains(row.Message, two.listen.String()), fmt.Sprintf("%+v", row)
		})
	}
	two.startAgent()
	s.ready(t, "b")
	two.has("b.second.example.", "new")

	two.rotate("second-token-of-two")
	s.zone(t, "third", "third.example.", "vms")
	s.record(t, "c", "c.third.example.", "rotated")
	s.ready(t, "c")
	two.has("c.third.example.", "rotated")

	if err := s.KubizoneV1alpha1().Zones("team").Delete(t.Context(), "third", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	one.has("c.third.example.", "")
	two.has("c.third.example.", "")

	// It leaves the class, and the controller ends before it can have seen that.
	if !byCatalog {
		two.agent.End()
	}
	if _, err := s.Bind9V1alpha1().Bind9Instances("dns").Patch(t.Context(), "two", types.MergePatchType, []byte(`{"metadata":{"labels":{"class":"none"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.stop()
	s.start(t)
	if !byCatalog {
		until(t, func() (bool, string) {
			row := s.rows(t, "vms", "first", "dns/one", "dns/two")["dns/two"]
			return row.State == v1alpha1.ServerFailed, fmt.Sprintf("%+v", row)
		})
		two.startAgent()
		two.has("a.first.example.", "")
		two.has("b.second.example.", "")
	}
	s.rows(t, "vms", "first", "dns/one")
	s.change(t, "a", "at the end")
	s.ready(t, "a")
	one.has("a.first.example.", "at the end")
}

// A server that asked for the catalog before the class was there forgets a NOTIFY that comes while its question is
// under way: for a while it is told again soon, and not by the next reminder alone.
func TestClass_tellsOfANewCatalogAgain(t *testing.T) {
	s := start(t)
	at, err := rig.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	const catalog = "catalog.invalid."
	told := make(chan time.Time, 1000)
	listening := make(chan struct{})
	sink := &mdns.Server{Addr: at.String(), Net: "udp", NotifyStartedFunc: func() { close(listening) }, Handler: mdns.HandlerFunc(func(w mdns.ResponseWriter, m *mdns.Msg) {
		if m.Opcode == mdns.OpcodeNotify && m.Question[0].Name == catalog {
			told <- time.Now()
		}
		_ = w.WriteMsg(new(mdns.Msg).SetReply(m))
	})}
	go func() { _ = sink.ListenAndServe() }()
	t.Cleanup(func() { _ = sink.Shutdown() })
	<-listening
	class := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "new"}, Spec: v1alpha1.DNSClassSpec{
		AllowLocalAddresses: true, Namespaces: &v1alpha1.NamespaceSelection{Selector: &metav1.LabelSelector{}},
		Transfer: &v1alpha1.TransferProvider{CatalogZone: catalog, Secondaries: []v1alpha1.Secondary{{Address: at.String()}}},
	}}
	if _, err := s.KubizoneV1alpha1().DNSClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	within := time.After(waitTimeout)
	for last := (time.Time{}); ; {
		select {
		case now := <-told:
			if !last.IsZero() && now.Sub(last) > time.Second && now.Sub(last) < 15*time.Second {
				return
			}
			last = now
		case <-within:
			t.Fatal("it is not told of the catalog again before the next reminder")
		}
	}
}
