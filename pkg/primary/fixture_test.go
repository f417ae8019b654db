// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/must"
)

var (
	loopback = netip.MustParseAddr("127.0.0.1")
	outside  = netip.MustParseAddr("192.0.2.66")
	local    = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
)

func testKey(t testing.TB, keyName string, a tsig.Algorithm) tsig.Key {
	t.Helper()
	return must.Get(tsig.NewKey(keyName, a, []byte("a secret of thirty-two octets ok")))(t)
}

func makeHeader(fqdn string) content.Header {
	return content.Header{
		FQDN: name.MustParse(fqdn), TTL: 300, Refresh: 86400, Retry: 7200, Expire: 3600000, NegativeResponseCache: 360,
		NameServers: []content.NameServer{{Name: "ns1.provider.example."}},
	}
}

// makeSnapshot returns a snapshot with records of the form "owner type value". Records with the same owner and type
// form an RRset.
func makeSnapshot(t testing.TB, uid, view, fqdn string, s serial.Serial, records ...string) *zoneview.Snapshot {
	t.Helper()
	var sets []content.RRset
	at := map[string]int{}
	for _, text := range records {
		f := strings.SplitN(text, " ", 3)
		rt := must.Get(rdata.ParseType(f[1]))(t)
		v := must.Get(rdata.Parse(rt, f[2]))(t)
		key := f[0] + " " + rt.String()
		i, ok := at[key]
		if !ok {
			i = len(sets)
			at[key] = i
			sets = append(sets, content.RRset{Owner: name.MustRel(f[0]), Type: rt, TTL: content.InheritTTL()})
		}
		sets[i].Data = append(sets[i].Data, v.Text)
	}
	for _, set := range sets {
		slices.Sort(set.Data)
	}
	slices.SortFunc(sets, func(a, b content.RRset) int {
		return cmp.Or(a.Owner.Compare(b.Owner), cmp.Compare(a.Type, b.Type))
	})
	z := zoneview.Zone{UID: uid, View: view, Namespace: "default", Name: strings.Trim(fqdn, ".")}
	return zoneview.NewSnapshot(z, makeHeader(fqdn), s, 1, sethash.State{}, slices.Values(sets))
}

// makeHosts returns n A records. The lengths of their owners vary, so that messages end at different offsets.
func makeHosts(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%d A 10.%d.%d.%d", strings.Repeat("x", i*7%40), i, i>>16, i>>8&255, i&255)
	}
	return out
}

func serveZones(zones ...*zoneview.Snapshot) *zoneview.Set {
	set := zoneview.NewSet(zoneview.Config{})
	for _, z := range zones {
		set.Put(z, true)
	}
	return set
}

func testResponder(t testing.TB, set *zoneview.Set, rules []Rule, keys ...tsig.Key) *responder {
	t.Helper()
	c, known, err := Config{Zones: set, Views: []string{""}, Listen: netip.MustParseAddrPort("127.0.0.1:0"), Keys: keys, Allow: rules}.completeConfig()
	must.Succeed(t, err)
	return &responder{newClasses(&c, known, c.Logger), c.Clock}
}

func makeQuery(fqdn string, qtype uint16) *mdns.Msg {
	m := new(mdns.Msg)
	m.SetQuestion(fqdn, qtype)
	m.RecursionDesired = false
	return m
}

func makeIXFR(fqdn string, have uint32) *mdns.Msg {
	m := new(mdns.Msg)
	m.SetIxfr(fqdn, have, "ns.", "host.")
	return m
}

func packMessage(t testing.TB, m *mdns.Msg) []byte {
	t.Helper()
	return must.Get(m.Pack())(t)
}

func unpackMessage(t testing.TB, b []byte) *mdns.Msg {
	t.Helper()
	m := new(mdns.Msg)
	if err := m.Unpack(b); err != nil {
		t.Fatalf("%v in %x", err, b)
	}
	return m
}

// macBy makes miekg/dns compute the digest of a message, and the key only the MAC.
type macBy struct{ tsig.Key }

func (k macBy) Generate(digest []byte, _ *mdns.TSIG) ([]byte, error) { return k.MAC(digest), nil }

func (k macBy) Verify(digest []byte, record *mdns.TSIG) error {
	if hex.EncodeToString(k.MAC(digest)) != record.MAC {
		return mdns.ErrSig
	}
	return nil
}

func startPrimary(t testing.TB, c Config) *Primary {
	t.Helper()
	if c.Views == nil {
		c.Views = []string{""}
	}
	if !c.Listen.IsValid() {
		c.Listen = netip.MustParseAddrPort("127.0.0.1:0")
	}
	if c.Allow == nil {
		c.Allow = Rules(local, c.Keys)
	}
	p := must.Get(New(c))(t)
	runUntilCleanup(t, p)
	return p
}

func dialTCP(t testing.TB, p *Primary) net.Conn {
	t.Helper()
	return dial(t, p, "tcp")
}

func dial(t testing.TB, p *Primary, network string) net.Conn {
	t.Helper()
	conn := must.Get(net.Dial(network, p.Addr().String()))(t)
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute))
	return conn
}

func serialOf(n uint32) serial.Serial { return serial.Serial(n) }

func replaceHeader(s *zoneview.Snapshot, h content.Header) *zoneview.Snapshot {
	return zoneview.NewSnapshot(s.Zone(), h, s.Serial(), 1, sethash.State{}, slices.Values([]content.RRset(nil)))
}

// sentBy returns the sender of a message in clear.
func sentBy(addr netip.Addr, overTCP bool) sender { return sender{addr: addr, overTCP: overTCP} }
