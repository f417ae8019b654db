// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfers

import (
	"context"
	"flag"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/interop/subject"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

type consumer struct {
	name string
	at   string
	log  func() string
}

// readSerial does without dig: thousands of processes would be slow.
func (c consumer) readSerial(zone string) (uint32, bool, error) {
	question := new(dns.Msg)
	question.SetQuestion(zone, dns.TypeSOA)
	question.RecursionDesired = false
	answer, _, err := (&dns.Client{Timeout: time.Second}).Exchange(question, c.at)
	if err != nil || len(answer.Answer) == 0 {
		return 0, false, err
	}
	soa, ok := answer.Answer[0].(*dns.SOA)
	return soa.Serial, ok, nil
}

func (c consumer) parseAddress() netip.AddrPort { return netip.MustParseAddrPort(c.at) }

func (c consumer) expectSerial(t *testing.T, ctx context.Context, zone string, want uint32) {
	t.Helper()
	must.Succeed(t, c.waitFor(ctx, zone, want))
}

func (c consumer) waitFor(ctx context.Context, zone string, want uint32) error {
	for {
		got, ok, err := c.readSerial(zone)
		if err == nil && got == want && ok == (want != 0) {
			return nil
		}
		select {
		case <-ctx.Done():
			log := c.log()
			return fmt.Errorf("%s: %s is at serial %d (%v), want %d; it says:\n%s", c.name, zone, got, err, want, log[max(0, len(log)-20_000):])
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func makeMemberZone(t *testing.T, uid, fqdn string, serial uint32) *zoneview.Snapshot {
	t.Helper()
	s := subject.Zone(t, fmt.Sprintf("%[1]s 300 IN SOA ns.%[1]s host.%[1]s %[2]d 86400 7200 3600000 300\n%[1]s 300 IN NS ns.%[1]s\nns.%[1]s 300 IN A 192.0.2.1\nwww.%[1]s 300 IN TXT %[3]q\n", fqdn, serial, uid))
	return zoneview.NewSnapshot(zoneview.Zone{UID: uid, Namespace: "default", Name: uid}, s.Header(), s.Serial(), s.N(), s.State(), s.RRsets())
}

func makeMember(s *zoneview.Snapshot) primary.Member {
	return primary.Member{UID: s.Zone().UID, Zone: s.FQDN()}
}

func makeMembership(changes uint32, zones ...*zoneview.Snapshot) primary.Membership {
	m := primary.Membership{Serial: serial.Serial(changes)}
	for _, zone := range zones {
		m.Members = append(m.Members, makeMember(zone))
	}
	return m
}

func addClasses(t *testing.T, serving subject.Serving, signedMembers, plainMembers primary.Membership, bind, knot,
	pdns netip.AddrPort) (signed, plain *primary.Class) {
	t.Helper()
	keys := subject.Keys(t, key.Statement())
	signed = must.Get(serving.Primary.AddClass(primary.ClassConfig{
		Name: "signed", Catalog: name.MustParse("signed.catalog.example."), Keys: keys, Allow: primary.Rules(subject.Loopback, keys),
		Notify: []primary.Target{{Addr: bind}, {Addr: knot}},
	}, signedMembers))(t)
	plain = must.Get(serving.Primary.AddClass(primary.ClassConfig{
		Name: "plain", Catalog: name.MustParse("plain.catalog.example."), Allow: primary.Rules(subject.Loopback, nil),
		Notify: []primary.Target{{Addr: pdns}},
	}, plainMembers))(t)
	return signed, plain
}

// startClass starts a class with a key for BIND and Knot, and a class without for PowerDNS. Their consumers start
// first, so that NOTIFY must bring them to the catalog.
func startClass(t *testing.T, ctx context.Context, serving subject.Serving, signedMembers, plainMembers primary.Membership) (signed,
	plain *primary.Class, bind, knot, pdns consumer) {
	t.Helper()
	signedCatalog := []rig.SecondaryZone{{Zone: "signed.catalog.example.", Primary: serving.Addr, Key: key.Name}}
	b := rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{
		Keys: []rig.TSIGKey{key}, Catalogs: signedCatalog,
		// BIND's default of 20 queries a second and two transfers at a time is slow for many zones.
		Options: "serial-query-rate 1000; transfers-in 100; transfers-per-ns 100;",
	}))(t)
	k := rig.NeedServer(rig.StartKnot(ctx, rig.KnotConfig{Key: &key, Catalogs: signedCatalog}))(t)
	p := rig.NeedServer(rig.StartPowerDNS(ctx, rig.PowerDNSConfig{Catalogs: []rig.SecondaryZone{{Zone: "plain.catalog.example.", Primary: serving.Addr}}}))(t)
	signed, plain = addClasses(t, serving, signedMembers, plainMembers, b.Addr, k.Addr, p.Addr)
	return signed, plain, consumer{"BIND", b.Addr.String(), b.Log}, consumer{"Knot", k.Addr.String(), k.Log}, consumer{"PowerDNS", p.Addr.String(), p.Log}
}

// A restarted primary is given the members of a class and their serial. BIND, Knot and PowerDNS, which followed the
// catalog of the first process, follow the second, and keep every zone that is still a member.
func TestARestartedPrimaryIsFollowed(t *testing.T) {
	ctx := rig.Within(t, 2*time.Minute)
	first, second, third := makeMemberZone(t, "uid-1", "first.example.", 100), makeMemberZone(t, "uid-2", "second.example.", 200),
		makeMemberZone(t, "uid-3", "third.example.", 300)
	serving := subject.StartClasses(t, primary.Config{}, first, second)
	signed, plain, bind, knot, pdns := startClass(t, ctx, serving, makeMembership(1, first, second), makeMembership(1, first, second))
	for _, to := range []struct {
		primary.Membership
		first uint32
	}{{makeMembership(2, second), 0}, {makeMembership(3, first, second), 100}, {makeMembership(4, second), 0},
		{makeMembership(5, first, second), 100}} {
		signed.SetMembers(to.Membership)
		plain.SetMembers(to.Membership)
		for _, c := range []consumer{bind, knot, pdns} {
			c.expectSerial(t, ctx, "second.example.", 200)
			c.expectSerial(t, ctx, "first.example.", to.first)
		}
	}
	serving.Stop()
	again := subject.StartClasses(t, primary.Config{Listen: serving.Addr}, first, third)
	members := makeMembership(7, first, third) // the second left meanwhile
	addClasses(t, again, members, members, bind.parseAddress(), knot.parseAddress(), pdns.parseAddress())
	for _, c := range []consumer{bind, knot, pdns} {
		c.expectSerial(t, ctx, "third.example.", 300)
		c.expectSerial(t, ctx, "second.example.", 0)
		c.expectSerial(t, ctx, "first.example.", 100)
	}
}

// zones is the size of the long catalog: `go test -zones 10000` measures the figure in operations.
var zones = flag.Int("zones", 1000, "zones of the long catalog")

func TestManyZones(t *testing.T) {
	ctx := rig.Within(t, 5*time.Minute+time.Duration(*zones)*100*time.Millisecond)
	var all []*zoneview.Snapshot
	for i := range *zones {
		all = append(all, makeMemberZone(t, fmt.Sprintf("uid-%d", i), fmt.Sprintf("zone-%d.example.", i), 1))
	}
	serving := subject.StartClasses(t, primary.Config{}, all...)
	begun := time.Now()
	signed, plain, bind, knot, pdns := startClass(t, ctx, serving, makeMembership(1, all...), makeMembership(1, all...))
	var following sync.WaitGroup
	for _, c := range []consumer{bind, knot, pdns} {
		following.Go(func() {
			for _, zone := range all {
				if err := c.waitFor(ctx, zone.FQDN().String(), 1); err != nil {
					t.Error(err)
					return
				}
			}
			t.Logf("%s has %d zones after %s", c.name, *zones, time.Since(begun).Round(time.Millisecond))
		})
	}
	following.Wait()
	stats := serving.Primary.Stats()
	t.Logf("questions %v, transfers %d, NOTIFYs sent %d, of them %d not confirmed", stats.Questions, stats.Transfers[primary.TransferKind{Kind: "axfr", Result: "sent"}], stats.NotifiesSent, stats.NotifiesFailed)
	if stats.ConnectionsRefused != 0 {
		t.Errorf("%d connections were refused: who is closed on takes us for down", stats.ConnectionsRefused)
	}
	if t.Failed() {
		return
	}
	begun = time.Now()
	signed.SetMembers(makeMembership(2, all[1:]...))
	plain.SetMembers(makeMembership(2, all[1:]...))
	for _, c := range []consumer{bind, knot, pdns} {
		c.expectSerial(t, ctx, "zone-0.example.", 0)
		c.expectSerial(t, ctx, "zone-1.example.", 1)
		t.Logf("one is gone from %s after %s", c.name, time.Since(begun).Round(time.Millisecond))
	}
}

// BIND takes a catalog with groups and ignores them. Knot puts the members into the template of their group, not into
// its first one, which has no primary (S17.5).
func TestCatalogGroup_consumersFollow_S17_5(t *testing.T) {
	ctx := rig.Within(t, time.Minute)
	first, second := makeMemberZone(t, "uid-1", "first.example.", 100), makeMemberZone(t, "uid-2", "second.example.", 200)
	serving := subject.StartClasses(t, primary.Config{}, first, second)
	catalogs := []rig.SecondaryZone{{Zone: "catalog.example.", Primary: serving.Addr}}
	b := rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{Catalogs: catalogs, Options: "serial-query-rate 1000;"}))(t)
	k := rig.NeedServer(rig.StartKnot(ctx, rig.KnotConfig{Catalogs: catalogs, MemberTemplates: []string{"default",
		"member-of-catalog.example."}}))(t)
	class := must.Get(serving.Primary.AddClass(primary.ClassConfig{Name: "c", Catalog: name.MustParse("catalog.example."),
		CatalogGroup: "member-of-catalog.example.", Allow: []primary.Rule{{Prefixes: subject.Loopback}},
		Notify: []primary.Target{{Addr: b.Addr}, {Addr: k.Addr}}}, makeMembership(1, first)))(t)
	consumers := []consumer{{"BIND", b.Addr.String(), b.Log}, {"Knot", k.Addr.String(), k.Log}}
	for i, members := range [][]*zoneview.Snapshot{{first}, {first, second}, {second}} {
		class.SetMembers(makeMembership(uint32(i+2), members...))
		for _, c := range consumers {
			for _, zone := range []*zoneview.Snapshot{first, second} {
				want := uint32(0)
				if slices.Contains(members, zone) {
					want = uint32(zone.Serial())
				}
				c.expectSerial(t, ctx, zone.FQDN().String(), want)
			}
		}
	}
}
