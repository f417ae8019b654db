// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class_delivered

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// seen is a Zone and its only Delivery.
type seen struct {
	zone     *v1alpha1.Zone
	delivery *v1alpha1.Delivery
}

func (s *server) readSeen(t *testing.T) (now seen, err error) {
	if now.zone, err = s.KubizoneV1alpha1().Zones("team").Get(t.Context(), "org", metav1.GetOptions{}); err != nil {
		return now, err
	}
	list, err := s.KubizoneV1alpha1().Deliveries("team").List(t.Context(), metav1.ListOptions{})
	if err == nil && len(list.Items) != 1 {
		err = fmt.Errorf("%d Deliveries", len(list.Items))
	}
	if err == nil {
		now.delivery = &list.Items[0]
	}
	return now, err
}

func hasCondition(conditions []metav1.Condition, kind string, status metav1.ConditionStatus, reason string) bool {
	of := meta.FindStatusCondition(conditions, kind)
	return of != nil && of.Status == status && of.Reason == reason
}

func (s *server) waitToSee(t *testing.T, what string, want func(seen) bool) seen {
	t.Helper()
	var now seen
	waitUntil(t, func() (bool, string) {
		var err error
		now, err = s.readSeen(t)
		return err == nil && want(now), fmt.Sprintf("%s: %v; %+v; %s", what, err, now.zone.Status.Conditions, s.describeDeliveries(t))
	})
	return now
}

// S6.11: BIND comes back with other data at the zone's serial. The comparison finds them, one serial without change has
// BIND transfer the zone whole, and the zone is Ready again. A BIND that refuses transfers is not compared.
func TestOtherDataAtTheSameSerialIsRepaired(t *testing.T) {
	t.Parallel() // mostly waits
	ctx := rig.Within(t, 4*time.Minute)
	s := startServer(t)
	atBIND, atClosed := must.Get(rig.FreePort())(t), must.Get(rig.FreePort())(t)
	s.makeClass(t, "red", v1alpha1.TransferProvider{TSIGSecretRef: s.keepKey(t, "red", red),
		Secondaries: listSecondaries(atBIND, atClosed)})
	s.makeZone(t, "org", "example.org.", "red")
	s.makeRecord(t, "www", "www.example.org.", "first")
	s.makeRecord(t, "mail", "mail.example.org.", "first")
	s.primaryHas(t, "example.org.", &red)
	bind := rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{Addr: atBIND, Keys: []rig.TSIGKey{red},
		Secondaries: []rig.SecondaryZone{{Zone: "example.org.", Primary: s.dns, Key: red.Name}}}))(t)
	statement := fmt.Sprintf(`zone "example.org" {
		type secondary; file "closed.db"; primaries { %s port %d key %q; };
		min-retry-time 1; allow-transfer { none; };
	};`, s.dns.Addr(), s.dns.Port(), red.Name)
	closed := rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{Addr: atClosed, Keys: []rig.TSIGKey{red}, Statements: statement}))(t)
	s.waitForReady(t, "www")
	s.waitForReady(t, "mail")

	before := s.waitToSee(t, "Ready", func(now seen) bool {
		return hasCondition(now.zone.Status.Conditions, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonDelivered)
	})
	bind.Stop()
	file := bind.ZoneFile("example.org.")
	text := string(must.Get(os.ReadFile(file))(t))
	if strings.Count(text, `"first"`) != 2 {
		t.Fatalf("%s", text)
	}
	text = strings.Replace(text, `"first"`, `"other"`, 1) + "foreign.example.org. 60 IN A 192.0.2.66\n"
	must.Succeed(t, os.WriteFile(file, []byte(text), 0o600))
	journals := must.Get(filepath.Glob(filepath.Join(bind.Dir(), "*.jnl")))(t)
	for _, journal := range journals {
		must.Succeed(t, os.Remove(journal))
	}
	must.Succeed(t, bind.Start(ctx))
	must.Succeed(t, bind.WaitSerial(ctx, "example.org.", uint32(before.zone.Status.Serial)))
	events := must.Get(s.KubizoneV1alpha1().Deliveries("team").Watch(ctx, metav1.ListOptions{}))(t)
	defer events.Stop()
	begun := time.Now()
	s.requestComparison(t)
	after := s.waitToSee(t, "repaired", func(now seen) bool {
		return now.zone.Status.Serial != before.zone.Status.Serial && now.delivery.Status.Serial == now.zone.Status.Serial &&
			hasCondition(now.zone.Status.Conditions, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonDelivered)
	})
	t.Logf("found and repaired in %s", time.Since(begun).Round(10*time.Millisecond))
	if was, now := before.zone.Status, after.zone.Status; now.Serial != was.Serial+1 || now.Hash != was.Hash {
		t.Errorf("serial %d, was %d; hash %s, was %s", now.Serial, was.Serial, now.Hash, was.Hash)
	}
	for _, host := range []string{"www", "mail"} {
		if got, _, err := readTXT(bind.Addr, host+".example.org."); err != nil || got != "first" {
			t.Errorf("%s: BIND answers %q, %v", host, got, err)
		}
	}
	if there, err := bind.Transfer(ctx, "example.org."); err != nil || strings.Contains(strings.Join(there, "\n"), "foreign") {
		t.Errorf("%v: %v", there, err)
	}
	now := after.delivery.Status
	if !hasCondition(now.Conditions, v1alpha1.ConditionDrifted, metav1.ConditionFalse, "Compared") || len(now.Drift) > 0 {
		t.Errorf("%+v", now)
	}
	found := false
	for deadline := time.After(waitTimeout); !found; {
		select {
		case event := <-events.ResultChan():
			one, ok := event.Object.(*v1alpha1.Delivery)
			if !ok || !hasCondition(one.Status.Conditions, v1alpha1.ConditionDrifted, metav1.ConditionTrue, "DriftFound") {
				continue
			}
			found = hasCondition(one.Status.Conditions, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonContentDiffers) &&
				len(one.Status.Drift) == 1 && strings.HasSuffix(one.Status.Drift[0], ".example.org. TXT")
			for _, row := range one.Status.Servers {
				if (row.Content == v1alpha1.ContentDiffers) != (row.Name == atBIND.String()) {
					t.Errorf("%+v", row)
				}
			}
		case <-deadline:
			t.Fatal("no Delivery was Drifted")
		}
	}
	for _, row := range after.delivery.Status.Servers {
		want, says := v1alpha1.ServerContent(""), ""
		if row.Name == closed.Addr.String() {
			want, says = v1alpha1.ContentNotCompared, "not compared: it refuses"
		}
		if row.State != v1alpha1.ServerCurrent || row.Content != want || !strings.Contains(row.Message, says) {
			t.Errorf("%+v", row)
		}
	}
}

// altering is a secondary that answers with the serials it is told, and always with other data.
type altering struct {
	addr netip.AddrPort
	mu   sync.Mutex
	at   int64
}

func startAltering(t *testing.T) *altering {
	t.Helper()
	s := &altering{addr: must.Get(rig.FreePort())(t)}
	listener := must.Get(net.Listen("tcp", s.addr.String()))(t)
	packets := must.Get(net.ListenPacket("udp", s.addr.String()))(t)
	for _, server := range []*mdns.Server{{Listener: listener, Handler: s}, {PacketConn: packets, Handler: s}} {
		started := make(chan struct{})
		server.NotifyStartedFunc = func() { close(started) }
		go server.ActivateAndServe()
		<-started
		t.Cleanup(func() { server.Shutdown() })
	}
	return s
}

func (s *altering) setSerial(at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = at
}

func (s *altering) ServeDNS(out mdns.ResponseWriter, m *mdns.Msg) {
	s.mu.Lock()
	at := s.at
	s.mu.Unlock()
	answer := new(mdns.Msg).SetReply(m)
	if answer.Authoritative = true; m.Opcode == mdns.OpcodeQuery {
		soa := readRR(fmt.Sprintf("example.org. 360 IN SOA ns.example.org. hostmaster.example.org. %d 86400 7200 3600000 360", at))
		if answer.Answer = []mdns.RR{soa}; m.Question[0].Qtype == mdns.TypeAXFR {
			answer.Answer = []mdns.RR{soa, readRR("www.example.org. 360 IN TXT mine"), soa}
		}
	}
	out.WriteMsg(answer)
}

func readRR(text string) mdns.RR {
	rr, err := mdns.NewRR(text)
	if err != nil {
		panic(err)
	}
	return rr
}

// S6.11: for a server that has other data again, though it transferred the zone whole, no serial follows, also after a
// restart.
func TestAServerThatAltersTheZoneGetsOneSerial(t *testing.T) {
	t.Parallel() // mostly waits
	s := startServer(t)
	other := startAltering(t)
	s.makeClass(t, "plain", v1alpha1.TransferProvider{Secondaries: listSecondaries(other.addr)})
	s.makeZone(t, "org", "example.org.", "plain")
	s.makeRecord(t, "www", "www.example.org.", "first")
	before := s.waitToSee(t, "asked for", func(now seen) bool {
		other.setSerial(now.zone.Status.Serial)
		return now.delivery.Status.Serial == now.zone.Status.Serial
	})
	s.requestComparison(t)
	stuck := func(now seen) bool {
		other.setSerial(now.zone.Status.Serial)
		ready := meta.FindStatusCondition(now.zone.Status.Conditions, v1alpha1.ConditionReady)
		return ready != nil && ready.Reason == v1alpha1.ReasonContentDiffers && strings.Contains(ready.Message, "no serial follows")
	}
	after := s.waitToSee(t, "stuck", stuck)
	if after.zone.Status.Serial != before.zone.Status.Serial+1 {
		t.Errorf("serial %d, was %d", after.zone.Status.Serial, before.zone.Status.Serial)
	}
	if row := after.delivery.Status.Servers[0]; row.Content != v1alpha1.ContentDiffers || row.DiffersSince != before.zone.Status.Serial ||
		after.delivery.Status.Serial == after.zone.Status.Serial {
		t.Errorf("%+v", after.delivery.Status)
	}
	for _, secret := range []string{other.addr.String(), "mine"} { // S6.17
		ready := meta.FindStatusCondition(after.zone.Status.Conditions, v1alpha1.ConditionReady)
		if strings.Contains(ready.Message, secret) {
			t.Errorf("tenants read %q", ready.Message)
		}
	}
	waitUntil(t, func() (bool, string) {
		record, err := s.KubizoneV1alpha1().Records("team").Get(t.Context(), "www", metav1.GetOptions{})
		of := record.Status.Conditions
		return err == nil && hasCondition(of, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonContentDiffers),
			fmt.Sprintf("%v: %+v", err, of)
	})
	s.stop()
	s.startUp(t)
	again := s.waitToSee(t, "stuck after a restart", func(now seen) bool {
		return stuck(now) && now.delivery.Status.Servers[0].LastProbeTime.After(after.delivery.Status.Servers[0].LastProbeTime.Time)
	})
	if again.zone.Status.Serial != after.zone.Status.Serial {
		t.Errorf("serial %d follows %d", again.zone.Status.Serial, after.zone.Status.Serial)
	}
}
