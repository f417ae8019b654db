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
	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// outside is a Bind9Instance for a named and an agent that run as processes on this machine.
type outside struct {
	s       *server
	t       *testing.T
	name    string
	named   *rig.BIND
	agent   *rig.Process
	listen  netip.AddrPort
	program string // the agent's program
	dir     string
	control rig.Control
	key     rig.TSIGKey
}

func (o *outside) writeFile(file, text string) string {
	o.t.Helper()
	path := filepath.Join(o.dir, file)
	must.Succeed(o.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func (o *outside) rotateToken(token string) {
	o.t.Helper()
	secret := filepath.Join(o.s.findSecrets(), "dns", o.name+"-token")
	must.Succeed(o.t, os.MkdirAll(secret, 0o700))
	must.Succeed(o.t, os.WriteFile(filepath.Join(secret, "token"), []byte(token), 0o600))
	o.writeFile("token", token)
}

func (o *outside) startAgent() {
	o.t.Helper()
	var err error
	o.agent, err = rig.StartProcess(nil, o.dir, o.program, "bind-agent", "--listen", o.listen.String(), "--tls-cert-file", "tls.crt", "--tls-private-key-file", "tls.key", "--token-file", "token",
		"--rndc-server", o.control.Addr.String(), "--rndc-key-file", "rndc.key", "--dns-server", o.named.Addr.String(), "--tsig-key-file",
		"tsig.key", "--zone-dir", o.named.Dir())
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(o.agent.End)
}

func (s *server) startInstance(t *testing.T, program, name, class string, role bind9.Role, catalog string, key rig.TSIGKey) *outside {
	t.Helper()
	control := must.Get(rig.FreePort())(t)
	o := &outside{s: s, t: t, program: program, name: name, dir: t.TempDir(), key: key, control: rig.Control{Addr: control, Key: rig.TSIGKey{Name: "control", Algorithm: "hmac-sha256", Secret: base64.StdEncoding.EncodeToString([]byte(strings.Repeat("c", 32)))}}}
	o.listen = must.Get(rig.FreePort())(t)
	config := rig.BINDConfig{Keys: []rig.TSIGKey{key}, Controls: []rig.Control{o.control}, Notify: true, Options: "allow-new-zones yes; serial-query-rate 1000;\n"}
	if catalog != "" {
		config.Catalogs = []rig.SecondaryZone{{Zone: catalog, Primary: s.dns, Key: key.Name}}
	}
	o.named = rig.NeedServer(rig.StartBIND(t.Context(), config))(t)
	authority := must.Get(pki.Issue(nil, pki.Authority(name), time.Now(), time.Hour))(t)
	serving := must.Get(pki.Issue(authority, pki.Serving(name, []string{"127.0.0.1"}), time.Now(), time.Hour))(t)
	o.writeFile("tls.crt", string(serving.CertPEM))
	o.writeFile("tls.key", string(serving.KeyPEM))
	o.writeFile("rndc.key", o.control.Key.Statement())
	o.writeFile("tsig.key", key.Statement())
	o.rotateToken("first-token-of-" + name)
	s.keepKey(t, name+"-tsig", key)
	o.startAgent()
	instance := &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: name, Labels: map[string]string{"class": class}}, Spec: bind9.Bind9InstanceSpec{Role: role}}
	instance.Spec.ZoneNamespaces = &bind9.NamespaceSelection{Selector: &metav1.LabelSelector{}}
	instance.Spec.External = &bind9.ExternalServer{
		Address: o.named.Addr.String(), AgentURL: "https://" + o.listen.String(), CABundle: authority.CertPEM,
		TokenSecretRef: &bind9.SecretKeyReference{Name: name + "-token", Key: "token"}, TSIGSecretName: name + "-tsig",
	}
	must.Get(s.Bind9V1alpha1().Bind9Instances("dns").Create(t.Context(), instance, metav1.CreateOptions{}))(t)
	return o
}

// want "": until the server has no zone.
func (o *outside) waitForText(fqdn, want string) {
	o.t.Helper()
	waitUntil(o.t, func() (bool, string) {
		text, there, err := readTXT(o.named.Addr, fqdn)
		return err == nil && text == want && there == (want != ""), fmt.Sprintf("%s has %q for %s (zone there: %v): %v; %s", o.name, text,
			fqdn, there, err, o.s.describeDeliveries(o.t))
	})
}

func (s *server) waitForRows(t *testing.T, class, zone string, want ...string) map[string]v1alpha1.DeliveryServer {
	t.Helper()
	rows := map[string]v1alpha1.DeliveryServer{}
	waitUntil(t, func() (bool, string) {
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

// TestServers_inEachMode: for each mode, two external BIND servers get, change and lose zones through their agents.
// Existing zones change while the agent is away. A rotated token and a restarted controller lose nothing, and a server
// that leaves the class loses its zones, also if it left while no controller ran (S11.14, S11.15).
func TestServers_inEachMode_S11_15(t *testing.T) {
	t.Parallel() // mostly waits
	program := must.Get(rig.Kubizone(t.Context(), t.TempDir(), ""))(t)
	for _, mode := range []v1alpha1.Bind9Mode{v1alpha1.Bind9ModeCatalog, v1alpha1.Bind9ModeTransfer, v1alpha1.Bind9ModeUpdate} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			inMode(t, program, mode)
		})
	}
}

func inMode(t *testing.T, program string, mode v1alpha1.Bind9Mode) {
	s := startServer(t)
	byCatalog := mode == v1alpha1.Bind9ModeCatalog
	block := &v1alpha1.Bind9Provider{Mode: mode, InstancesFrom: []v1alpha1.Bind9InstanceSelection{{Namespaces: []string{"dns"}, Selector: metav1.LabelSelector{MatchLabels: map[string]string{"class": "vms"}}}}}
	switch mode {
	case v1alpha1.Bind9ModeCatalog:
		block.CatalogZone = "catalog.example."
	case v1alpha1.Bind9ModeTransfer:
		block.Primaries = []string{s.dns.String()}
	}
	must.Get(s.KubizoneV1alpha1().DNSClasses().Create(t.Context(), &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "vms"},
		Spec: v1alpha1.DNSClassSpec{
			AllowLocalAddresses: true, Namespaces: &v1alpha1.NamespaceSelection{Selector: &metav1.LabelSelector{}}, Bind9: block,
		}}, metav1.CreateOptions{}))(t)
	key := rig.TSIGKey{Name: "vms.bind9.dns", Algorithm: "hmac-sha256",
		Secret: base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))}
	one := s.startInstance(t, program, "one", "vms", bind9.RolePrimary, block.CatalogZone, key)
	two := s.startInstance(t, program, "two", "vms", bind9.RoleSecondary, block.CatalogZone, key)

	s.makeZone(t, "first", "first.example.", "vms")
	s.makeRecord(t, "a", "a.first.example.", "before")
	s.waitForReady(t, "a")
	one.waitForText("a.first.example.", "before")
	two.waitForText("a.first.example.", "before")
	s.changeRecord(t, "a", "after")
	s.waitForReady(t, "a")
	one.waitForText("a.first.example.", "after")
	two.waitForText("a.first.example.", "after")
	s.waitForRows(t, "vms", "first", "dns/one", "dns/two")
	if !byCatalog { // their agents make the zones
		expectAlert(t, s.readMetrics(t), 0, "KubizoneAgentCertificateExpires", "KubizoneAgentCertificateExpires dns")
	}

	// The agent is down: existing zones change, and a missing zone has a row with the reason.
	two.agent.End()
	s.changeRecord(t, "a", "without the agent")
	s.waitForReady(t, "a")
	two.waitForText("a.first.example.", "without the agent")
	s.makeZone(t, "second", "second.example.", "vms")
	s.makeRecord(t, "b", "b.second.example.", "new")
	one.waitForText("b.second.example.", "new")
	if !byCatalog {
		waitUntil(t, func() (bool, string) {
			row := s.waitForRows(t, "vms", "second", "dns/one", "dns/two")["dns/two"]
			return row.State == v1alpha1.ServerFailed && strings.Contains(row.Message, two.listen.String()), fmt.Sprintf("%+v", row)
		})
	}
	two.startAgent()
	s.waitForReady(t, "b")
	two.waitForText("b.second.example.", "new")

	two.rotateToken("second-token-of-two")
	s.makeZone(t, "third", "third.example.", "vms")
	s.makeRecord(t, "c", "c.third.example.", "rotated")
	s.waitForReady(t, "c")
	two.waitForText("c.third.example.", "rotated")

	must.Succeed(t, s.KubizoneV1alpha1().Zones("team").Delete(t.Context(), "third", metav1.DeleteOptions{}))
	one.waitForText("c.third.example.", "")
	two.waitForText("c.third.example.", "")

	// The server leaves the class, and the controller ends before seeing that.
	if !byCatalog {
		two.agent.End()
	}
	must.Get(s.Bind9V1alpha1().Bind9Instances("dns").Patch(t.Context(), "two", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"class":"none"}}}`), metav1.PatchOptions{}))(t)
	s.stop()
	s.startUp(t)
	if !byCatalog {
		waitUntil(t, func() (bool, string) {
			row := s.waitForRows(t, "vms", "first", "dns/one", "dns/two")["dns/two"]
			return row.State == v1alpha1.ServerFailed, fmt.Sprintf("%+v", row)
		})
		two.startAgent()
		two.waitForText("a.first.example.", "")
		two.waitForText("b.second.example.", "")
	}
	s.waitForRows(t, "vms", "first", "dns/one")
	s.changeRecord(t, "a", "at the end")
	s.waitForReady(t, "a")
	one.waitForText("a.first.example.", "at the end")
}

// A secondary may drop the NOTIFY of a new catalog, because it is just then asking for the catalog, which did not exist
// before. So the primary repeats this NOTIFY within seconds for a while, and not only by the regular reminder.
func TestClass_announcesANewCatalogAgain(t *testing.T) {
	t.Parallel() // mostly waits
	s := startServer(t)
	at := must.Get(rig.FreePort())(t)
	const catalog = "catalog.invalid."
	reported := make(chan time.Time, 1000)
	listening := make(chan struct{})
	sink := &mdns.Server{Addr: at.String(), Net: "udp", NotifyStartedFunc: func() { close(listening) }, Handler: mdns.HandlerFunc(func(w mdns.ResponseWriter, m *mdns.Msg) {
		if m.Opcode == mdns.OpcodeNotify && m.Question[0].Name == catalog {
			reported <- time.Now()
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
	must.Get(s.KubizoneV1alpha1().DNSClasses().Create(t.Context(), class, metav1.CreateOptions{}))(t)
	within := time.After(waitTimeout)
	for last := (time.Time{}); ; {
		select {
		case now := <-reported:
			if !last.IsZero() && now.Sub(last) > time.Second && now.Sub(last) < 15*time.Second {
				return
			}
			last = now
		case <-within:
			t.Fatal("it is not told of the catalog again before the next reminder")
		}
	}
}
