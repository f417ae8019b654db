// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

type updateTwin struct {
	t       *testing.T
	key     rig.TSIGKey
	servers [2]string // BIND, then the server
	random  *rand.Rand
	sent    uint16
}

func (w *updateTwin) sendMessage(at int, m *mdns.Msg) int {
	w.t.Helper()
	c := &mdns.Client{Net: "tcp", Timeout: time.Minute, TsigSecret: map[string]string{w.key.Name: w.key.Secret}}
	signed := m.Copy()
	w.sent++
	signed.Id = w.sent // repeated octets are carried out only once (S13.15), and within a second, only the ID tells messages apart
	signed.SetTsig(w.key.Name, mdns.HmacSHA256, 300, time.Now().Unix())
	answer, _, err := c.Exchange(signed, w.servers[at])
	if err != nil {
		w.t.Fatalf("%s: %v\n%v", w.servers[at], err, m)
	}
	return answer.Rcode
}

func (w *updateTwin) readZone(at int) string {
	w.t.Helper()
	var lines []string
	for _, rr := range w.transferZone(at) {
		if strings.HasSuffix(rr.Header().Name, ".apps.example.org.") {
			lines = append(lines, strings.Join(strings.Fields(rr.String()), " "))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func (w *updateTwin) transferZone(at int) (all []mdns.RR) {
	w.t.Helper()
	m := new(mdns.Msg)
	m.SetAxfr("example.org.")
	m.SetTsig(w.key.Name, mdns.HmacSHA256, 300, time.Now().Unix())
	in := must.Get((&mdns.Transfer{TsigSecret: map[string]string{w.key.Name: w.key.Secret}}).In(m, w.servers[at]))(w.t)
	for e := range in {
		if e.Error != nil {
			w.t.Fatal(e.Error)
		}
		all = append(all, e.RR...)
	}
	return all
}

func (w *updateTwin) pickWord(words ...string) string { return words[w.random.IntN(len(words))] }

func (w *updateTwin) makeRR(owner, rtype string) mdns.RR {
	data := map[string][]string{"A": {"192.0.2.1", "192.0.2.2", "192.0.2.3"}, "TXT": {`"x"`, `"y z"`},
		"CNAME": {"x.example.net.", "y.example.net."}}
	return must.Get(mdns.NewRR(fmt.Sprintf("%s %s IN %s %s", owner, w.pickWord("60", "300"), rtype, w.pickWord(data[rtype]...))))(w.t)
}

func (w *updateTwin) makeMessage() *mdns.Msg {
	m := new(mdns.Msg)
	m.SetUpdate("example.org.")
	owner := func() string { return w.pickWord("a", "b", "c") + ".apps.example.org." }
	rtype := func() string { return w.pickWord("A", "A", "TXT", "CNAME") }
	for range w.random.IntN(3) {
		rr := []mdns.RR{w.makeRR(owner(), rtype())}
		switch w.random.IntN(5) {
		case 0:
			m.NameUsed(rr)
		case 1:
			m.NameNotUsed(rr)
		case 2:
			m.RRsetUsed(rr)
		case 3:
			m.RRsetNotUsed(rr)
		default:
			rr[0].Header().Ttl = 0
			// Value dependent. BIND counts a repeated RR twice; RFC 2136 §3.2.3 compares RRsets, without duplicates.
			if !slices.ContainsFunc(m.Answer, func(before mdns.RR) bool { return mdns.IsDuplicate(before, rr[0]) }) {
				m.Answer = append(m.Answer, rr...)
			}
		}
	}
	for range 1 + w.random.IntN(3) {
		rr := []mdns.RR{w.makeRR(owner(), rtype())}
		switch w.random.IntN(6) {
		case 0:
			m.RemoveName(rr)
		case 1:
			m.RemoveRRset(rr)
		case 2:
			m.Remove(rr)
		default:
			m.Insert(rr)
		}
	}
	return m
}

// S13.4, S13.6: random messages get the same answers and make the same changes as at BIND. An intended difference: BIND
// ignores a CNAME beside other data, or data beside a CNAME, with NOERROR; the server refuses the message.
func TestUpdate_isAsByBIND_S13_4(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	u := runUpdated(t, t.TempDir())
	key := u.makeKey("team-a", "twin", v1alpha1.UpdateTransferOwn, "*.apps.example.org.")
	bind, err := rig.StartBIND(t.Context(), rig.BINDConfig{Keys: []rig.TSIGKey{key}, Primaries: []rig.PrimaryZone{{Zone: "example.org.",
		UpdateKey: key.Name, Text: "$TTL 3600\n@ SOA ns1 host 1 7200 3600 86400 360\n@ NS ns1\nns1 A 192.0.2.53\n"}}})
	if _, missing := err.(*rig.Missing); missing {
		rig.SkipMissing(t, err)
	}
	must.Succeed(t, err)
	defer bind.Close()
	seed := uint64(34)
	w := &updateTwin{t: t, key: key, servers: [2]string{netip.AddrPort(bind.Addr).String(), u.dns}, random: rand.New(rand.NewPCG(seed, 0))}
	reset := new(mdns.Msg)
	reset.SetUpdate("example.org.")
	for _, owner := range []string{"a", "b", "c"} {
		reset.RemoveName([]mdns.RR{w.makeRR(owner+".apps.example.org.", "A")})
	}
	messages, refused := 200, 0
	if rig.Long() {
		messages = 3000
	}
	for i := range messages {
		m := w.makeMessage()
		remote, local := w.sendMessage(0, m), w.sendMessage(1, m)
		switch {
		case remote == mdns.RcodeSuccess && local == mdns.RcodeRefused:
			refused++
			if got := w.sendMessage(0, reset) | w.sendMessage(1, reset); got != mdns.RcodeSuccess {
				t.Fatalf("reset: %d", got)
			}
			if !strings.Contains(m.String(), "CNAME") && !strings.Contains(w.readZone(0), "CNAME") && !touchesCNAME(m) {
				t.Fatalf("message %d of seed %d is refused without a CNAME:\n%v", i, seed, m)
			}
		case remote != local:
			t.Fatalf("message %d of seed %d: BIND answers %s, the server %s\n%v", i, seed, mdns.RcodeToString[remote],
				mdns.RcodeToString[local], m)
		}
		if remote, local := w.readZone(0), w.readZone(1); remote != local {
			t.Fatalf("message %d of seed %d\n%v\nBIND has\n%s\nthe server has\n%s", i, seed, m, remote, local)
		}
	}
	if refused == 0 || refused > messages/2 {
		t.Errorf("%d of %d messages are refused", refused, messages)
	}
}

// Before the reset, the name may have had a CNAME.
func touchesCNAME(m *mdns.Msg) bool {
	return slices.ContainsFunc(m.Ns, func(rr mdns.RR) bool { return rr.Header().Class == mdns.ClassINET })
}

// readValues returns a value per line, without SOA and TTLs: an update does not set the TTL of an RRset shared with a
// Record.
func (w *updateTwin) readValues(at int) (values []string) {
	w.t.Helper()
	for _, rr := range w.transferZone(at) {
		if rr.Header().Rrtype != mdns.TypeSOA {
			rr.Header().Ttl = 60
			values = append(values, strings.Join(strings.Fields(rr.String()), " "))
		}
	}
	slices.Sort(values)
	return values
}

// makeOwnMessage returns a random message about values of every origin: nameServers of the Zone, Records, updates.
func (w *updateTwin) makeOwnMessage() *mdns.Msg {
	m := new(mdns.Msg)
	m.SetUpdate("example.org.")
	for range 1 + w.random.IntN(3) {
		line := w.pickWord("example.org. 60 NS ns1.example.org.", "example.org. 60 NS ns2.example.net.",
			"example.org. 60 NS ns3.example.net.", "example.org. 60 NS ns3.example.net.",
			"ns1.example.org. 60 A 192.0.2.53", "ns1.example.org. 60 A 192.0.2.54",
			"ns1.example.org. 60 AAAA 2001:db8::53", "fix.example.org. 60 A 192.0.2.1", "fix.example.org. 60 A 192.0.2.2",
			"fix.example.org. 60 A 192.0.2.3", "new.example.org. 60 A 192.0.2.4", "example.org. 60 TXT x")
		rr := []mdns.RR{must.Get(mdns.NewRR(line))(w.t)}
		switch w.random.IntN(6) {
		case 0:
			m.RemoveRRset(rr)
		case 1, 2:
			m.Remove(rr)
		case 3:
			// For the other names, deleting all means every record to BIND, but to the server only records of updates
			// (S13.5).
			m.RemoveName([]mdns.RR{must.Get(mdns.NewRR("new.example.org. 60 A 192.0.2.4"))(w.t)})
		default:
			m.Insert(rr)
		}
	}
	return m
}

// S13.4, S13.5: after NOERROR to an update of the zone's own namespace, the zone has the same values as BIND's: of the
// Zone's nameServers, of one of two Records of a type, and of updates. A message that only BIND would carry out is
// REFUSED.
func TestUpdate_ofOwnZoneIsAsByBIND_S13_5(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	u := runUpdated(t, t.TempDir())
	zones, records := u.client.KubizoneV1alpha1().Zones("dns"), u.client.KubizoneV1alpha1().Records("dns")
	zone := must.Get(zones.Get(t.Context(), "example-org", metav1.GetOptions{}))(t)
	zone.Spec.Limits = &v1alpha1.ZoneLimits{MaxDeletePercent: new(int32(100))}
	zone.Spec.NameServers = []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53", "2001:db8::53"}},
		{Name: "ns2.example.net."}}
	zone.Spec.Delegations = []v1alpha1.DelegationRule{{Namespace: "dns",
		Records: []v1alpha1.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}}
	must.Get(zones.Update(t.Context(), zone, metav1.UpdateOptions{}))(t)
	for i, address := range []string{"192.0.2.1", "192.0.2.2"} {
		record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: fmt.Sprint("fix-", i)},
			Spec: v1alpha1.RecordSpec{DomainName: "fix.example.org.", Type: "A", RData: address}}
		must.Get(records.Create(t.Context(), record, metav1.CreateOptions{}))(t)
	}
	key := u.makeKeyOf("dns", "own", v1alpha1.UpdateKeySpec{Transfer: v1alpha1.UpdateTransferZone, Records: []v1alpha1.UpdateKeyRecords{
		{Pattern: "*.example.org.", Types: []string{"A", "AAAA"}}, {Pattern: "example.org.", Types: []string{"NS", "TXT"}}}})
	bind, err := rig.StartBIND(t.Context(), rig.BINDConfig{Keys: []rig.TSIGKey{key}, Primaries: []rig.PrimaryZone{{Zone: "example.org.",
		UpdateKey: key.Name, Text: "$TTL 60\n@ SOA ns1 host 1 7200 3600 86400 360\n@ NS ns1\n@ NS ns2.example.net.\n" +
			"ns1 A 192.0.2.53\nns1 AAAA 2001:db8::53\nfix A 192.0.2.1\nfix A 192.0.2.2\n"}}})
	if _, missing := err.(*rig.Missing); missing {
		rig.SkipMissing(t, err)
	}
	must.Succeed(t, err)
	defer bind.Close()
	seed := uint64(50)
	w := &updateTwin{t: t, key: key, servers: [2]string{netip.AddrPort(bind.Addr).String(), u.dns}, random: rand.New(rand.NewPCG(seed, 0))}
	messages, refused := 100, 0
	if rig.Long() {
		messages = 3000
	}
	// The primary has a change milliseconds after the answer.
	readLocal := func() (values []string) {
		serial := uint32(must.Get(zones.Get(t.Context(), "example-org", metav1.GetOptions{}))(t).Status.Serial)
		waitUntil(t, "the primary has the serial of the Zone", func() bool {
			has := w.transferZone(1)[0].(*mdns.SOA).Serial
			values = w.readValues(1)
			return has == serial
		})
		return values
	}
	before := readLocal()
	for i := range messages {
		m := w.makeOwnMessage()
		remote, local := w.sendMessage(0, m), w.sendMessage(1, m)
		if local != mdns.RcodeRefused && (local != mdns.RcodeSuccess || remote != local) { // BIND keeps an address for an NS
			t.Fatalf("message %d of seed %d: BIND answers %s, the server %s\n%v", i, seed, mdns.RcodeToString[remote],
				mdns.RcodeToString[local], m)
		}
		after := readLocal()
		if local == mdns.RcodeRefused {
			if refused++; !slices.Equal(after, before) {
				t.Fatalf("message %d of seed %d is refused\n%v\nthe server had\n%q\nand has\n%q", i, seed, m, before, after)
			}
			w.resetBIND(after)
		}
		if remote := w.readValues(0); !slices.Equal(remote, after) {
			t.Fatalf("message %d of seed %d, answered %s\n%v\nBIND has\n%q\nthe server has\n%q", i, seed, mdns.RcodeToString[local], m,
				remote, after)
		}
		before = after
	}
	if refused == 0 || refused > messages*3/4 {
		t.Errorf("%d of %d messages are refused", refused, messages)
	}
}

func (w *updateTwin) resetBIND(values []string) {
	w.t.Helper()
	m := new(mdns.Msg)
	m.SetUpdate("example.org.")
	for _, line := range values {
		m.Insert([]mdns.RR{must.Get(mdns.NewRR(line))(w.t)})
	}
	for _, line := range w.readValues(0) {
		if !slices.Contains(values, line) {
			m.Remove([]mdns.RR{must.Get(mdns.NewRR(line))(w.t)})
		}
	}
	if got := w.sendMessage(0, m); got != mdns.RcodeSuccess {
		w.t.Fatalf("reset: %s", mdns.RcodeToString[got])
	}
}
