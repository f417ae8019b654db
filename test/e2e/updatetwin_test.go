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

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// updateTwin sends the same messages to BIND and to the server.
type updateTwin struct {
	t       *testing.T
	key     rig.TSIGKey
	servers [2]string // BIND, then the server
	random  *rand.Rand
}

// sendMessage sends a message to one of them and returns the RCODE.
func (w *updateTwin) sendMessage(at int, m *mdns.Msg) int {
	w.t.Helper()
	c := &mdns.Client{Net: "tcp", Timeout: time.Minute, TsigSecret: map[string]string{w.key.Name: w.key.Secret}}
	signed := m.Copy()
	signed.Id = mdns.Id() // the same octets are carried out once (S13.9)
	signed.SetTsig(w.key.Name, mdns.HmacSHA256, 300, time.Now().Unix())
	answer, _, err := c.Exchange(signed, w.servers[at])
	if err != nil {
		w.t.Fatalf("%s: %v\n%v", w.servers[at], err, m)
	}
	return answer.Rcode
}

// readZone returns what stands below apps, by AXFR.
func (w *updateTwin) readZone(at int) string {
	w.t.Helper()
	m := new(mdns.Msg)
	m.SetAxfr("example.org.")
	m.SetTsig(w.key.Name, mdns.HmacSHA256, 300, time.Now().Unix())
	in := must.Get((&mdns.Transfer{TsigSecret: map[string]string{w.key.Name: w.key.Secret}}).In(m, w.servers[at]))(w.t)
	var lines []string
	for e := range in {
		if e.Error != nil {
			w.t.Fatal(e.Error)
		}
		for _, rr := range e.RR {
			if strings.HasSuffix(rr.Header().Name, ".apps.example.org.") {
				lines = append(lines, strings.Join(strings.Fields(rr.String()), " "))
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func (w *updateTwin) pickWord(words ...string) string { return words[w.random.IntN(len(words))] }

func (w *updateTwin) makeRR(owner, rtype string) mdns.RR {
	data := map[string][]string{"A": {"192.0.2.1", "192.0.2.2", "192.0.2.3"}, "TXT": {`"x"`, `"y z"`},
		"CNAME": {"x.example.net.", "y.example.net."}}
	return must.Get(mdns.NewRR(fmt.Sprintf("%s %s IN %s %s", owner, w.pickWord("60", "300"), rtype, w.pickWord(data[rtype]...))))(w.t)
}

// makeMessage returns a random message.
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
			m.Answer = append(m.Answer, rr...) // value dependent
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

// S13.4, S13.6: random messages are answered, and change the zone, as by BIND. One difference is meant: where BIND
// ignores a CNAME beside other data, or data beside a CNAME, and says NOERROR, the server refuses the message.
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
	w := &updateTwin{t, key, [2]string{netip.AddrPort(bind.Addr).String(), u.dns}, rand.New(rand.NewPCG(seed, 0))}
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
		theirs, ours := w.sendMessage(0, m), w.sendMessage(1, m)
		switch {
		case theirs == mdns.RcodeSuccess && ours == mdns.RcodeRefused:
			refused++
			if got := w.sendMessage(0, reset) | w.sendMessage(1, reset); got != mdns.RcodeSuccess {
				t.Fatalf("reset: %d", got)
			}
			if !strings.Contains(m.String(), "CNAME") && !strings.Contains(w.readZone(0), "CNAME") && !touchesCNAME(m) {
				t.Fatalf("message %d of seed %d is refused without a CNAME:\n%v", i, seed, m)
			}
		case theirs != ours:
			t.Fatalf("message %d of seed %d: BIND answers %s, the server %s\n%v", i, seed, mdns.RcodeToString[theirs],
				mdns.RcodeToString[ours], m)
		}
		if theirs, ours := w.readZone(0), w.readZone(1); theirs != ours {
			t.Fatalf("message %d of seed %d\n%v\nBIND has\n%s\nthe server has\n%s", i, seed, m, theirs, ours)
		}
	}
	if refused == 0 || refused > messages/2 {
		t.Errorf("%d of %d messages are refused", refused, messages)
	}
}

// touchesCNAME reports whether a message adds something: at its name there may have been a CNAME before the reset.
func touchesCNAME(m *mdns.Msg) bool {
	return slices.ContainsFunc(m.Ns, func(rr mdns.RR) bool { return rr.Header().Class == mdns.ClassINET })
}
