// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// notified is a server with a BIND that transfers from 127.0.0.2, and so refuses the NOTIFYs from 127.0.0.1. In a
// cluster, too, NOTIFY comes from another address than the Service of the primary.
type notified struct {
	*running
	bind *rig.BIND
}

// nameTime is the time for a cause to be named (S7.12), and to go.
const nameTime = 45 * time.Second

func startNotified(t *testing.T) *notified {
	at := must.Get(rig.FreePort())(t)
	everywhere := netip.AddrPortFrom(netip.IPv4Unspecified(), at.Port())
	r := runUp(t, t.TempDir(), "--dns-listen", everywhere.String())
	server := must.Get(rig.FreePort())(t)
	class := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "main"}, Spec: v1alpha1.DNSClassSpec{
		AllowLocalAddresses: true, Namespaces: &v1alpha1.NamespaceSelection{Names: []string{"dns"}},
		Transfer: &v1alpha1.TransferProvider{CatalogZone: "catalog.example.",
			Secondaries: []v1alpha1.Secondary{{Address: server.String()}}}}}
	must.Get(r.client.KubizoneV1alpha1().DNSClasses().Create(t.Context(), class, metav1.CreateOptions{}))(t)
	primary := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), at.Port())
	waitUntil(t, "the catalog is served", func() bool {
		return len(r.sendQuery(at.String(), "catalog.example.", 6).Answer) > 0
	})
	bind := rig.NeedServer(rig.StartBIND(t.Context(), rig.BINDConfig{Addr: server, Clients: "any;",
		Catalogs: []rig.SecondaryZone{{Zone: "catalog.example.", Primary: primary}}}))(t)
	waitUntil(t, "BIND has the catalog", func() bool { return len(r.sendQuery(server.String(), "catalog.example.", 6).Answer) > 0 })
	return &notified{r, bind}
}

func (n *notified) runCommand(args ...string) string {
	command := exec.CommandContext(n.t.Context(), binaries.client, append(args, "--kubeconfig", filepath.Join(n.dir, "kubeconfig"))...)
	out, _ := command.CombinedOutput() // the exit code is 1 while a zone waits
	return string(out)
}

func (n *notified) readReady(zone string) *metav1.Condition {
	of := must.Get(n.client.KubizoneV1alpha1().Zones("dns").Get(n.t.Context(), zone, metav1.GetOptions{}))(n.t)
	return meta.FindStatusCondition(of.Status.Conditions, v1alpha1.ConditionReady)
}

// admit writes the line of the Delivery into BIND's configuration.
func (n *notified) admit(line string) {
	file := filepath.Join(n.bind.Dir(), "named.conf")
	conf := must.Get(os.ReadFile(file))(n.t)
	must.Succeed(n.t, os.WriteFile(file, bytes.Replace(conf, []byte("options {"), []byte("options {\n"+line), 1), 0o600))
	must.Get(n.bind.Rndc(n.t.Context(), "reconfig"))(n.t)
}

// A BIND that refuses NOTIFY for the catalog never learns of a new zone. Within 45 seconds Zone, Delivery, why, status
// and doctor name server, answer and the line to write, and with that line the zone is Ready (S7.12).
func TestNotify_refusalIsNamed_S7_12(t *testing.T) {
	n := startNotified(t)
	n.makeZone("org", "example.org.")
	zones := n.client.KubizoneV1alpha1().Zones("dns")
	zone := must.Get(zones.Get(t.Context(), "org", metav1.GetOptions{}))(t)
	zone.Spec.DNSClassRefs = []v1alpha1.DNSClassReference{{Name: "main"}}
	must.Get(zones.Update(t.Context(), zone, metav1.UpdateOptions{}))(t)
	began := time.Now()
	waitUntil(t, "Ready names the refusal", func() bool { return n.readReady("org").Reason == v1alpha1.ReasonNotifyFailing })
	if took := time.Since(began); took > nameTime {
		t.Errorf("named after %s", took)
	}
	if text := n.readReady("org").Message; strings.Contains(text, "127.0.0.") || strings.Contains(text, "REFUSED") {
		t.Errorf("tenants read %q", text)
	}

	list := must.Get(n.client.KubizoneV1alpha1().Deliveries("dns").List(t.Context(), metav1.ListOptions{}))(t)
	if len(list.Items) != 1 || len(list.Items[0].Status.Notify) != 1 {
		t.Fatalf("%+v", list.Items)
	}
	row := list.Items[0].Status.Notify[0]
	if row.Server != n.bind.Addr.String() || row.Answer != "REFUSED" || row.From != "127.0.0.1" || row.Catalog != "catalog.example." {
		t.Errorf("%+v", row)
	}
	fault := n.bind.Addr.String() +
		" answers REFUSED to NOTIFY for the catalog zone catalog.example., which left the primary from 127.0.0.1"
	const line = "allow-notify { ADDRESS; };"
	for _, args := range [][]string{{"why", "-n", "dns", "zone/org"}, {"why", "-n", "dns", "www.example.org"}, {"status"}, {"doctor"}} {
		if out := strings.Join(strings.Fields(n.runCommand(args...)), " "); !strings.Contains(out, fault) || !strings.Contains(out, line) {
			t.Errorf("%q prints\n%s", args, out)
		}
	}
	if !strings.Contains(n.Log(), "Secondary does not confirm NOTIFY") {
		t.Errorf("the log has no line:\n%s", n.Log())
	}

	n.admit(strings.Replace(line, "ADDRESS", "127.0.0.1", 1))
	began = time.Now()
	waitUntil(t, "the zone is Ready", func() bool { return n.readReady("org").Status == metav1.ConditionTrue })
	if took := time.Since(began); took > nameTime {
		t.Errorf("Ready after %s", took)
	}
	list = must.Get(n.client.KubizoneV1alpha1().Deliveries("dns").List(t.Context(), metav1.ListOptions{}))(t)
	if rows := list.Items[0].Status.Notify; len(rows) > 0 {
		t.Errorf("there stay %+v", rows)
	}
}
