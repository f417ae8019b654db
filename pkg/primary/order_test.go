// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/update"
	"kubi.zone/kubizone/pkg/primary/updates"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/test/must"
)

// orderedUpdates is a Handler that pauses for each message, and then notes the message's first value at its name.
type orderedUpdates struct {
	pause func(m *update.Message) time.Duration
	mu    sync.Mutex
	noted map[name.Name][]string
}

func (o *orderedUpdates) Update(_ context.Context, _ *updates.Key, m *update.Message, _ netip.Addr) uint16 {
	time.Sleep(o.pause(m))
	o.mu.Lock()
	defer o.mu.Unlock()
	o.noted[m.Updates[0].Name] = append(o.noted[m.Updates[0].Name], m.Updates[0].Data)
	return mdns.RcodeSuccess
}

func (o *orderedUpdates) valuesAt(owner string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.noted[name.MustParse(owner)])
}

func (o *orderedUpdates) Share(context.Context, *updates.Key, name.Name) ([]content.RRset, error) {
	return nil, nil
}

func startOrdered(t testing.TB, o *orderedUpdates, keys ...*updates.Key) *Primary {
	o.noted = map[name.Name][]string{}
	p := must.Get(New(Config{Zones: serveZones(makeSnapshot(t, "org", "", "example.org.", 7)), Updates: o, Allow: []Rule{},
		Views: []string{}, Listen: netip.MustParseAddrPort("127.0.0.1:0")}))(t)
	must.Succeed(t, p.SetUpdateKeys(keys))
	runUntilCleanup(t, p)
	return p
}

// sendAtOnce sends the messages over one UDP socket without waiting, and reads as many answers.
func sendAtOnce(t testing.TB, p *Primary, key *updates.Key, messages ...*mdns.Msg) {
	t.Helper()
	conn := dial(t, p, "udp")
	var signed [][]byte
	for _, m := range messages {
		wire, _ := signQuery(t, m, key.Key, time.Now())
		signed = append(signed, wire)
	}
	for _, wire := range signed {
		must.Get(conn.Write(wire))(t)
	}
	buf := make([]byte, 512)
	for range messages {
		n := must.Get(conn.Read(buf))(t)
		if m := unpackMessage(t, buf[:n]); m.Rcode != mdns.RcodeSuccess {
			t.Errorf("%v", m)
		}
	}
}

func makeNumbered(owner string, i int) *mdns.Msg {
	m := makeUpdate(owner)
	m.Ns[0].(*mdns.A).A = net.IPv4(192, 0, 2, byte(i))
	return m
}

// Six datagrams that a client sends without waiting for answers, as a script of nsupdate calls does, are applied in the
// order of arrival, so that the last is the state that stays.
func TestUpdate_datagramsOfANameRunInOrderOfArrival_S13_16(t *testing.T) {
	o := &orderedUpdates{pause: func(*update.Message) time.Duration { return time.Duration(rand.IntN(1000)) * time.Microsecond }}
	key := makeUpdater(t, "team", updates.TransferNone)
	p := startOrdered(t, o, key)
	const rounds, atOnce = 40, 6
	wrong := 0
	for round := range rounds {
		owner := fmt.Sprintf("h%d.apps.example.org.", round)
		var messages []*mdns.Msg
		for i := range atOnce {
			messages = append(messages, makeNumbered(owner, i))
		}
		// Spelling makes no other name.
		messages[3] = makeNumbered(fmt.Sprintf("H%d.Apps.example.ORG.", round), 3)
		sendAtOnce(t, p, key, messages...)
		if got := o.valuesAt(owner); len(got) != atOnce || !slices.IsSorted(got) {
			wrong++
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d rounds out of order", wrong, rounds)
	}
}

// A message waits for an earlier one only if both have a name in common, also as a prerequisite. While an update of a
// name hangs, the key's updates of other names are applied.
func TestUpdate_otherNamesDoNotWait_S13_16(t *testing.T) {
	slow, release := name.MustParse("slow.apps.example.org."), make(chan struct{})
	o := &orderedUpdates{pause: func(m *update.Message) time.Duration {
		if m.Updates[0].Name == slow {
			<-release
		}
		return 0
	}}
	key := makeUpdater(t, "team", updates.TransferNone)
	p := startOrdered(t, o, key)
	dependent := makeNumbered("dependent.apps.example.org.", 1)
	dependent.NameUsed([]mdns.RR{&mdns.ANY{Hdr: mdns.RR_Header{Name: slow.String()}}})
	var done sync.WaitGroup
	done.Go(func() { sendAtOnce(t, p, key, makeNumbered(slow.String(), 1), dependent) })
	for i := range 3 * updates.MaxRunningOfTenant {
		sendAtOnce(t, p, key, makeNumbered(fmt.Sprintf("h%d.apps.example.org.", i), 1))
	}
	if got := o.valuesAt("dependent.apps.example.org."); len(got) > 0 {
		t.Error("a message came before the earlier update of its prerequisite's name")
	}
	close(release)
	done.Wait()
	if got := o.valuesAt("dependent.apps.example.org."); len(got) != 1 {
		t.Errorf("the message that waited was applied %d times", len(got))
	}
}
