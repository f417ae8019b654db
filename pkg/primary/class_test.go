// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/must"
)

var elsewhere = netip.MustParseAddr("192.0.2.53")

// twoClasses returns a primary with two classes. The class red admits a key, and blue an address and a key. The zone
// example.org is in red, example.net in blue, example.com in both, and example.edu in neither.
func twoClasses(t *testing.T) (p *Primary, red, blue *Class, key, blueKey tsig.Key) {
	t.Helper()
	key, blueKey = testKey(t, "red.example.", tsig.HMACSHA256), testKey(t, "blue.example.", tsig.HMACSHA256)
	set := serveZones(makeSnapshot(t, "org", "", "example.org.", 1), makeSnapshot(t, "net", "other", "example.net.", 2),
		makeSnapshot(t, "com", "", "example.com.", 3), makeSnapshot(t, "edu", "", "example.edu.", 4))
	p = must.Get(New(Config{Zones: set, Listen: netip.MustParseAddrPort("127.0.0.1:0")}))(t)
	t.Cleanup(func() { p.Close() })
	com := Member{"com", name.MustParse("example.com.")}
	red = must.Get(p.AddClass(ClassConfig{Name: "red", Catalog: name.MustParse("red.catalog.example."), Keys: []tsig.Key{key}, Allow: []Rule{{Key: key.Name}}}, Membership{Members: []Member{{"org", name.MustParse("example.org.")}, com}, Serial: 1000}))(t)
	blue = must.Get(p.AddClass(ClassConfig{Name: "blue", Catalog: name.MustParse("blue.catalog.example."), Keys: []tsig.Key{blueKey}, Allow: []Rule{{Prefixes: []netip.Prefix{netip.MustParsePrefix("192.0.2.53/32")}}, {Key: blueKey.Name}}}, Membership{Members: []Member{{"net", name.MustParse("example.net.")}, com}, Serial: 1000}))(t)
	return p, red, blue, key, blueKey
}

// A peer of a class cannot distinguish a zone or catalog of another class from a zone that does not exist.
func TestClass_peersSeeTheirOwnZonesAlone(t *testing.T) {
	p, _, _, key, blueKey := twoClasses(t)
	r := p.tcp.responder
	r.clock = func() time.Time { return time.Unix(1700000000, 0) }
	ask := func(zone string, qtype uint16, from netip.Addr, key *tsig.Key) []byte {
		m := makeQuery(zone, qtype)
		m.Id = 4711
		if qtype == mdns.TypeIXFR {
			m = makeIXFR(zone, 0)
			m.Id = 4711
		}
		wire := packMessage(t, m)
		if key != nil {
			wire, _ = signQuery(t, m, *key, r.clock())
		}
		a := r.answerMessage(wire, sentBy(from, true))
		if a.transfer != nil {
			return nil
		}
		return a.msg
	}
	for _, peer := range []struct {
		what string
		from netip.Addr
		key  *tsig.Key
		own  []string
	}{
		{"red's key", outside, &key, []string{"example.org.", "example.com.", "red.catalog.example."}},
		{"blue's address", elsewhere, nil, []string{"example.net.", "example.com.", "blue.catalog.example."}},
		{"blue's key", outside, &blueKey, []string{"example.net.", "example.com.", "blue.catalog.example."}},
		{"nobody's", outside, nil, nil},
	} {
		for _, zone := range []string{"example.org.", "example.net.", "example.com.", "example.edu.", "red.catalog.example.", "blue.catalog.example."} {
			own := slices.Contains(peer.own, zone)
			if given := ask(zone, mdns.TypeAXFR, peer.from, peer.key) == nil; given != own {
				t.Errorf("%s: AXFR of %s: %v, want %v", peer.what, zone, given, own)
			}
			if own {
				continue
			}
			// The names have equal length, so that the answers are comparable.
			absent := strings.Repeat("x", len(zone)-len(".invalid.")+1) + "invalid."
			absent = absent[:len(zone)-len("invalid.")-1] + ".invalid."
			for _, qtype := range []uint16{mdns.TypeSOA, mdns.TypeAXFR, mdns.TypeIXFR, mdns.TypeA, mdns.TypeTXT} {
				there, not := ask(zone, qtype, peer.from, peer.key), ask(absent, qtype, peer.from, peer.key)
				if there == nil || not == nil || len(there) != len(not) {
					t.Fatalf("%s: type %d of %s: %x, of %s: %x", peer.what, qtype, zone, there, absent, not)
				}
				// Compare the header, with its counts, and the question's type and class. The MACs differ, because they
				// cover the question.
				if !bytes.Equal(there[:headerLen], not[:headerLen]) || !bytes.Equal(there[headerLen+len(zone)+1:headerLen+len(zone)+5], not[headerLen+len(zone)+1:headerLen+len(zone)+5]) {
					t.Errorf("%s: type %d of %s and of %s differ:\n%x\n%x", peer.what, qtype, zone, absent, there, not)
				}
			}
		}
	}
}

func TestClass_namesAndKeysAreOneInEach(t *testing.T) {
	p, red, blue, key, _ := twoClasses(t)
	org := Member{"org", name.MustParse("example.org.")}
	red.SetMembers(Membership{Members: []Member{org, {"other", org.Zone}, {"third", name.MustParse("red.catalog.example.")}}, Serial: 1001})
	if zone := red.nameOf("org"); zone != org.Zone {
		t.Errorf("the name is that of %v", zone)
	}
	for _, uid := range []string{"other", "third"} {
		if zone := red.nameOf(uid); zone == org.Zone || zone == red.catalog.fqdn {
			t.Errorf("a zone whose name is another's: %v", zone)
		}
	}
	// When the zone that has the name leaves, the next zone gets the name.
	red.SetMembers(Membership{Members: []Member{{"other", org.Zone}}, Serial: 1002})
	if zone := red.nameOf("other"); zone != org.Zone {
		t.Errorf("the next: %v", zone)
	}
	if err := blue.Update(ClassConfig{Catalog: name.MustParse("example.net.")}); err == nil {
		t.Error("a catalog named as a zone of the class")
	}
	another := must.Get(tsig.NewKey(key.Name, tsig.HMACSHA256, []byte("another secret of thirty-two octets")))(t)
	for what, config := range map[string]ClassConfig{
		"another key of the name": {Name: "green", Keys: []tsig.Key{another}, Allow: []Rule{{Key: another.Name}}},
		"a name twice":            {Name: "red"},
		"no name":                 {},
		"a key that is not there": {Name: "green", Allow: []Rule{{Key: "red.example."}}},
		"a target of no key":      {Name: "green", Notify: []Target{{Addr: netip.MustParseAddrPort("192.0.2.1:53"), Key: "red.example."}}},
		"the world":               {Name: "green", Allow: []Rule{{}}},
	} {
		if _, err := p.AddClass(config, Membership{Serial: 1}); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	green, err := p.AddClass(ClassConfig{Name: "green", Keys: []tsig.Key{key}, Allow: []Rule{{Key: key.Name}}}, Membership{})
	if err != nil {
		t.Fatalf("the same key in two classes: %v", err)
	}
	// The key stays until the last class releases it.
	red.Close()
	red.Close()
	m := makeQuery("example.org.", mdns.TypeSOA)
	wire, _ := signQuery(t, m, key, time.Now())
	if got := unpackMessage(t, p.tcp.responder.answerMessage(wire, sentBy(outside, false)).msg); got.Rcode != mdns.RcodeRefused ||
		got.IsTsig() == nil || got.IsTsig().Error != 0 {
		t.Errorf("a zone of a closed class: %v", got)
	}
	if err := red.Update(ClassConfig{}); err == nil {
		t.Error("a closed class is changed")
	}
	green.Close()
	if got := unpackMessage(t, p.tcp.responder.answerMessage(wire, sentBy(outside, false)).msg); got.Rcode != mdns.RcodeNotAuth {
		t.Errorf("with the key of a closed class: %v", got)
	}
}

func settledCatalog(t *testing.T, p *Primary, c *Class) *zoneview.Snapshot {
	t.Helper()
	s, ok := p.classes.catalogs.Settled(c.catalog.uid())
	if !ok {
		t.Fatal("no catalog")
	}
	return s
}

func catalogOf(t *testing.T, p *Primary, c *Class) (at serial.Serial, members map[string]string) {
	t.Helper()
	s := settledCatalog(t, p, c)
	must.Succeed(t, s.Prove())
	members = map[string]string{}
	for entry := range s.Entries() {
		switch text := entry.Type.String(); text {
		case "PTR":
			members[entry.Name.String()] = entry.Data
		case "TXT":
			if entry.Name.String() != "version.red.catalog.example." || entry.Data != `"2"` {
				t.Errorf("%s", entry)
			}
		case "SOA", "NS":
		default:
			t.Errorf("%s", entry)
		}
	}
	return s.Serial(), members
}

// A member's first confirmation changes the TTL of its record in the catalog, but not the label.
func TestCatalog_marksUnconfirmedMembersByTTL(t *testing.T) {
	p, red, _, _, _ := twoClasses(t)
	ttls := func() map[string]uint32 {
		t.Helper()
		of := map[string]uint32{}
		for entry := range settledCatalog(t, p, red).Entries() {
			if entry.Type == rdata.PTR {
				of[entry.Name.String()+" "+entry.Data] = entry.TTL
			}
		}
		return of
	}
	begun := ttls()
	now := time.Unix(1800000000, 0)
	org, com := Member{"org", name.MustParse("example.org.")}, Member{"com", name.MustParse("example.com.")}
	set := func(at serial.Serial, want uint32, unconfirmed map[string]bool) {
		t.Helper()
		now = now.Add(time.Second)
		red.SetMembers(Membership{Members: []Member{org, com}, Serial: at, Unconfirmed: unconfirmed})
		red.publishCatalog(now)
		for owner, ttl := range ttls() {
			expected := begun[owner]
			if strings.HasSuffix(owner, " example.org.") {
				expected = want
			}
			if before, same := begun[owner]; !same || ttl != expected {
				t.Errorf("at %d: %s has TTL %d, before %d", at, owner, ttl, before)
			}
		}
		if got := settledCatalog(t, p, red).Serial(); got != at {
			t.Errorf("serial %d, want %d", got, at)
		}
	}
	set(1010, dns.UnconfirmedTTL, map[string]bool{"org": true})
	set(1011, 0, nil)
	d, err := p.classes.catalogs.Difference(settledCatalog(t, p, red), 1010)
	if err != nil || len(d.Removed) != 1 || len(d.Added) != 1 {
		t.Errorf("IXFR: %+v, %v", d, err)
	}
	// A new catalog marks the same members.
	set(1012, dns.UnconfirmedTTL, map[string]bool{"org": true})
	must.Succeed(t, red.Update(ClassConfig{Catalog: name.MustParse("other.catalog.example.")}))
	if got := slices.Sorted(maps.Values(ttls())); !slices.Equal(got, []uint32{0, dns.UnconfirmedTTL}) {
		t.Errorf("another catalog: %v", got)
	}
}

// The catalog lists the members of the class under labels that depend on the Zone object, and has the serial of the
// membership (RFC 9432 §4, §5).
func TestCatalog_listsTheClass(t *testing.T) {
	p, red, _, _, _ := twoClasses(t)
	now := time.Unix(1800000000, 0)
	begun, members := catalogOf(t, p, red)
	if len(members) != 2 {
		t.Errorf("%v", members)
	}
	labelOf := func(zone string) (label string) {
		_, members := catalogOf(t, p, red)
		for owner, target := range members {
			if target == zone {
				label = owner
			}
		}
		return label
	}
	before := labelOf("example.org.")
	if !strings.HasSuffix(before, ".zones.red.catalog.example.") || strings.Count(before, ".") != 5 {
		t.Errorf("label %q", before)
	}
	// One zone is created again under its name, and the other is renamed.
	again, renamed := Member{"org-2", name.MustParse("example.org.")}, Member{"com", name.MustParse("renamed.example.")}
	red.SetMembers(Membership{Members: []Member{again, renamed}, Serial: 1010})
	if wait := red.publishCatalog(now); wait != 0 {
		t.Errorf("waits %s though nothing was published before", wait)
	}
	after, _ := catalogOf(t, p, red)
	if got := labelOf("example.org."); got == before || got == "" || labelOf("example.com.") != "" || labelOf("renamed.example.") == "" {
		t.Errorf("example.org is %q, was %q", got, before)
	}
	if begun != 1000 || after != 1010 {
		t.Errorf("from serial %d to %d", begun, after)
	}
	// Two quick changes are published together.
	red.SetMembers(Membership{Members: []Member{renamed}, Serial: 1011})
	red.SetMembers(Membership{Serial: 1012})
	if wait := red.publishCatalog(now.Add(catalogInterval / 5)); wait != catalogInterval*4/5 {
		t.Errorf("waits %s", wait)
	}
	red.publishCatalog(now.Add(time.Second))
	at, members := catalogOf(t, p, red)
	if len(members) != 0 || at != 1012 {
		t.Errorf("%d at %d", len(members), at)
	}
	// A change reverted before publication changes nothing.
	red.SetMembers(Membership{Members: []Member{{"brief", name.MustParse("brief.example.")}}, Serial: 1013})
	red.SetMembers(Membership{Serial: 1014})
	red.publishCatalog(now.Add(5 * time.Second))
	if same, _ := catalogOf(t, p, red); same != at {
		t.Errorf("serial %d for nothing", same)
	}
	d, err := p.classes.catalogs.Difference(settledCatalog(t, p, red), begun)
	if err != nil || len(d.Removed) != 2 || len(d.Added) != 0 {
		t.Errorf("IXFR from the first serial: %+v, %v", d, err)
	}
	// A restored store publishes its content, under its own serial.
	red.SetMembers(Membership{Members: []Member{renamed}, Serial: 900})
	red.publishCatalog(now.Add(10 * time.Second))
	if at, members := catalogOf(t, p, red); len(members) != 1 || at != 900 {
		t.Errorf("%d at %d", len(members), at)
	}
	if _, err := p.AddClass(ClassConfig{Name: "green", Catalog: name.MustParse("green.catalog.example.")}, Membership{}); err == nil {
		t.Error("a catalog without a serial")
	}
}

// Primaries with the same members of a class publish the same catalog under the same serial, regardless of their
// earlier catalogs. A secondary that asks for the difference from another primary's serial gets the whole catalog.
func TestCatalog_isTheSameAtEveryPrimary(t *testing.T) {
	make := func(memberships ...Membership) (*Primary, *Class) {
		p := must.Get(New(Config{Zones: serveZones(), Listen: netip.MustParseAddrPort("127.0.0.1:0")}))(t)
		t.Cleanup(func() { p.Close() })
		class := must.Get(p.AddClass(ClassConfig{Name: "red", Catalog: name.MustParse("red.catalog.example.")}, memberships[0]))(t)
		for i, to := range memberships[1:] {
			class.SetMembers(to)
			class.publishCatalog(time.Unix(1800000000+int64(i), 0))
		}
		return p, class
	}
	a, b, c := Member{"a", name.MustParse("a.example.")}, Member{"b", name.MustParse("b.example.")}, Member{"c", name.MustParse("c.example.")}
	first, ofFirst := make(Membership{Members: []Member{a}, Serial: 5}, Membership{Members: []Member{a, b}, Serial: 6}, Membership{Members: []Member{b, c}, Serial: 9})
	second, ofSecond := make(Membership{Members: []Member{c, b}, Serial: 9})
	at, members := catalogOf(t, first, ofFirst)
	again, same := catalogOf(t, second, ofSecond)
	if at != again || !maps.Equal(members, same) || len(members) != 2 {
		t.Errorf("%d: %v\n%d: %v", at, members, again, same)
	}
	if _, err := first.classes.catalogs.Difference(settledCatalog(t, first, ofFirst), 6); err != nil {
		t.Error(err)
	}
	if d, err := second.classes.catalogs.Difference(settledCatalog(t, second, ofSecond), 6); err == nil {
		t.Errorf("a difference from a serial that it never had: %+v", d)
	}
}

// A paused zone stays in the class's catalog, because secondaries delete zones that leave a catalog. But the zone is
// not transferred until the pause ends. A signed zone is transferred only to its signer. Every other secondary would
// serve the unsigned zone, and gets REFUSED.
func TestClass_handsOutNoPausedZoneAndSignedOnesToTheSigner(t *testing.T) {
	p, red, _, follower, signer := twoClasses(t)
	must.Succeed(t, red.Update(ClassConfig{Catalog: name.MustParse("red.catalog.example."), Keys: []tsig.Key{follower, signer},
		Allow: []Rule{{Key: follower.Name}, {Key: signer.Name, Signs: true}}}))
	members := []Member{{"org", name.MustParse("example.org.")}, {"com", name.MustParse("example.com.")}}
	rcodes := func(zone string) (codes [2]int) {
		for i, key := range []tsig.Key{follower, signer} {
			wire, _ := signQuery(t, makeQuery(zone, mdns.TypeSOA), key, time.Now())
			codes[i] = unpackMessage(t, p.tcp.responder.answerMessage(wire, sentBy(outside, false)).msg).Rcode
		}
		return codes
	}
	org := map[string]bool{"org": true}
	for _, step := range []struct {
		signed, paused map[string]bool
		want           [2]int
	}{
		{nil, nil, [2]int{mdns.RcodeSuccess, mdns.RcodeSuccess}},
		{org, nil, [2]int{mdns.RcodeRefused, mdns.RcodeSuccess}},
		{nil, org, [2]int{mdns.RcodeRefused, mdns.RcodeRefused}},
		{map[string]bool{}, map[string]bool{}, [2]int{mdns.RcodeSuccess, mdns.RcodeSuccess}},
	} {
		red.SetMembers(Membership{Members: members, Serial: 1001, Signed: step.signed, Paused: step.paused})
		red.publishCatalog(time.Now())
		if got := rcodes("example.org."); got != step.want {
			t.Errorf("signed %v, paused %v: follower and signer get %d, want %d", step.signed, step.paused, got, step.want)
		}
		if got := rcodes("example.com."); got != [2]int{} {
			t.Errorf("signed %v, paused %v: of another zone follower and signer get %d", step.signed, step.paused, got)
		}
		if _, listed := catalogOf(t, p, red); len(listed) != 2 {
			t.Errorf("signed %v, paused %v: the catalog has %v", step.signed, step.paused, listed)
		}
	}
	// A restarted primary starts with the signed zones.
	red.Close()
	config := ClassConfig{Name: "red", Keys: []tsig.Key{follower, signer},
		Allow: []Rule{{Key: follower.Name}, {Key: signer.Name, Signs: true}}}
	must.Get(p.AddClass(config, Membership{Members: members, Signed: map[string]bool{"org": true}}))(t)
	if got := rcodes("example.org."); got != [2]int{mdns.RcodeRefused, mdns.RcodeSuccess} {
		t.Errorf("signed from the beginning: follower and signer get %d", got)
	}
}

func TestClass_notifiesItsOwnTargets(t *testing.T) {
	red, blue := newSecondary(t, confirmNotify), newSecondary(t, confirmNotify)
	set := serveZones(makeSnapshot(t, "org", "", "example.org.", 10), makeSnapshot(t, "net", "", "example.net.", 20))
	p := startPrimary(t, Config{Zones: set, Allow: []Rule{{Prefixes: local}}, Views: []string{"none"}, NotifyInterval: time.Millisecond})
	class := must.Get(p.AddClass(ClassConfig{Name: "red", Catalog: name.MustParse("catalog.example."),
		Notify: []Target{{Addr: red.addressOf()}}}, Membership{Serial: 1}))(t)
	other := must.Get(p.AddClass(ClassConfig{Name: "blue", Notify: []Target{{Addr: blue.addressOf()}}},
		Membership{Members: []Member{{"net", name.MustParse("example.net.")}}}))(t)
	received := func(s *secondary, want ...string) {
		t.Helper()
		deadline := time.Now().Add(time.Minute)
		for {
			s.mu.Lock()
			var got []string
			for i := range s.received {
				text := s.zones[i]
				if text != "catalog.example." {
					text += fmt.Sprint(s.received[i])
				}
				got = append(got, text)
			}
			s.mu.Unlock()
			missing := slices.DeleteFunc(slices.Clone(want), func(one string) bool { return slices.Contains(got, one) })
			stray := slices.DeleteFunc(got, func(one string) bool { return slices.Contains(want, one) })
			if len(missing)+len(stray) == 0 {
				return
			}
			if time.Now().After(deadline) || len(stray) > 0 {
				t.Fatalf("not told: %q, told besides: %q", missing, stray)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	received(red, "catalog.example.")
	received(blue, "example.net.20")
	class.SetMembers(Membership{Members: []Member{{"org", name.MustParse("example.org.")}}, Serial: 2})
	received(red, "catalog.example.", "example.org.10")
	set.Put(makeSnapshot(t, "org", "", "example.org.", 11), true)
	set.Put(makeSnapshot(t, "net", "", "example.net.", 21), true)
	received(red, "catalog.example.", "example.org.10", "example.org.11")
	received(blue, "example.net.20", "example.net.21")
	// A new target gets a NOTIFY for every zone.
	late := newSecondary(t, confirmNotify)
	must.Succeed(t, class.Update(ClassConfig{Catalog: name.MustParse("catalog.example."), Notify: []Target{{Addr: late.addressOf()}}}))
	received(late, "catalog.example.", "example.org.11")
	count := func(s *secondary) int { s.mu.Lock(); defer s.mu.Unlock(); return len(s.received) }
	before := count(blue)
	other.Announce("net")
	blue.waitForNotifies(t, before+1)
	// A target without the zone may have missed the catalog's NOTIFY, because BIND drops a NOTIFY while a query fails.
	before = count(late)
	class.Announce("org")
	late.waitForNotifies(t, before+2)
	late.mu.Lock()
	again := slices.Sorted(slices.Values(late.zones[before:]))
	late.mu.Unlock()
	if !slices.Equal(again, []string{"catalog.example.", "example.org."}) {
		t.Errorf("told again of %q", again)
	}
	other.Close()
	set.Put(makeSnapshot(t, "net", "", "example.net.", 22), true)
	set.Put(makeSnapshot(t, "org", "", "example.org.", 12), true)
	received(late, "catalog.example.", "example.org.11", "example.org.12")
	received(blue, "example.net.20", "example.net.21")
}
