// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package class_delivered proves: what a DNSClass with a block transfer says happens at real secondaries. Zones appear,
// change, are replaced and disappear on BIND, Knot and PowerDNS by the catalog of the class and on NSD by its own
// configuration; a Record is Ready when every secondary that the class lists answers with it; peers of one class see
// nothing of another; every primary shows the same; a secondary that was away catches up by the difference; and what a
// secondary signs by the files of docs/dnssec.md is current when its data is that of the zone.
package class_delivered

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/interop/subject"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

var (
	red  = rig.TSIGKey{Name: "red.example", Algorithm: "hmac-sha256", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}
	blue = rig.TSIGKey{Name: "blue.example", Algorithm: "hmac-sha512", Secret: "YW5vdGhlciBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3Q="}
)

const (
	redCatalog  = "red.catalog.example."
	blueCatalog = "blue.catalog.example."
)

func listed(at ...netip.AddrPort) []v1alpha1.Secondary {
	var all []v1alpha1.Secondary
	for _, one := range at {
		all = append(all, v1alpha1.Secondary{Address: one.String()})
	}
	return all
}

// member is the label under which a catalog lists a zone, empty for not.
func member(catalog, zone string) string {
	found := regexp.MustCompile(`(?m)^(\S+)\.zones\.\S+\s.*\sPTR\s+` + regexp.QuoteMeta(zone) + `$`).FindStringSubmatch(catalog)
	if found == nil {
		return ""
	}
	return found[1]
}

func TestZonesAppearChangeAndDisappear(t *testing.T) {
	ctx := subject.Within(t, 3*time.Minute)
	s := start(t)
	catalogs := []rig.SecondaryZone{{Zone: redCatalog, Primary: s.dns, Key: red.Name}}
	bind := rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{Keys: []rig.TSIGKey{red}, Catalogs: catalogs}))(t)
	knot := rig.NeedServer(rig.StartKnot(ctx, rig.KnotConfig{Key: &red, Catalogs: catalogs}))(t)
	nsd, err := rig.StartNSD(ctx, rig.NSDConfig{Keys: []rig.TSIGKey{red}, Secondaries: []rig.SecondaryZone{{Zone: "example.org.", Primary: s.dns, Key: red.Name}}})
	rig.SkipMissing(t, err)
	t.Cleanup(func() { nsd.Close() })
	pdns, err := rig.StartPowerDNS(ctx, rig.PowerDNSConfig{Catalogs: []rig.SecondaryZone{{Zone: "plain.catalog.example.", Primary: s.dns}}})
	rig.SkipMissing(t, err)
	t.Cleanup(func() { pdns.Close() })
	all := map[string]netip.AddrPort{"BIND": bind.Addr, "Knot": knot.Addr, "NSD": nsd.Addr, "PowerDNS": pdns.Addr}
	s.class(t, "red", v1alpha1.TransferProvider{TSIGSecretRef: s.keep(t, "red", red), CatalogZone: redCatalog, Secondaries: listed(bind.Addr, knot.Addr, nsd.Addr)})
	s.class(t, "plain", v1alpha1.TransferProvider{CatalogZone: "plain.catalog.example.", Secondaries: listed(pdns.Addr)})

	s.zone(t, "org", "example.org.", "red", "plain")
	s.record(t, "www", "www.example.org.", "first")
	everywhere := func(want string) {
		t.Helper()
		for server, at := range all {
			if got, _, err := answer(at, "www.example.org."); err != nil || got != want {
				t.Errorf("Ready, and %s answers %q (%v), want %q", server, got, err, want)
			}
		}
	}
	s.ready(t, "www")
	everywhere("first")
	s.change(t, "www", "second")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("NSD says:\n%s", nsd.Log())
		}
	})
	at := s.ready(t, "www").Status.Serial
	everywhere("second")

	// A row for each listed secondary, and the zone is Ready as well.
	list, err := s.KubizoneV1alpha1().Deliveries("team").List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 2 {
		t.Fatalf("%d Deliveries, %v", len(list.Items), err)
	}
	for _, one := range list.Items {
		want := map[string]int{"red": 3, "plain": 1}[one.Spec.ClassRef.Name]
		if len(one.Status.Servers) != want || one.Status.Serial != at {
			t.Errorf("%s: %+v, want %d rows at %d", one.Spec.ClassRef.Name, one.Status, want, at)
		}
		for _, row := range one.Status.Servers {
			if row.State != v1alpha1.ServerCurrent || row.Serial != at || row.LastProbeTime == nil {
				t.Errorf("%s: %+v", one.Spec.ClassRef.Name, row)
			}
		}
	}

	// Made anew: another object under the name, with another content and another member id.
	before, err := axfr(t, s.dns, redCatalog, &red)
	if err != nil || member(before, "example.org.") == "" {
		t.Fatalf("%v\n%s", err, before)
	}
	must.Succeed(t, s.KubizoneV1alpha1().Records("team").Delete(ctx, "www", metav1.DeleteOptions{}))
	remove := func() {
		t.Helper()
		must.Succeed(t, s.KubizoneV1alpha1().Zones("team").Delete(ctx, "org", metav1.DeleteOptions{}))
		until(t, func() (bool, string) {
			_, err := s.KubizoneV1alpha1().Zones("team").Get(ctx, "org", metav1.GetOptions{})
			return err != nil, "the Zone does not go; " + s.deliveries(t)
		})
	}
	remove()
	s.zone(t, "again", "example.org.", "red", "plain")
	s.record(t, "anew", "www.example.org.", "third")
	s.ready(t, "anew")
	everywhere("third")
	after, err := axfr(t, s.dns, redCatalog, &red)
	if id := member(after, "example.org."); err != nil || id == "" || id == member(before, "example.org.") {
		t.Errorf("member %q, was %q, %v", id, member(before, "example.org."), err)
	}
	must.Succeed(t, s.KubizoneV1alpha1().Zones("team").Delete(ctx, "again", metav1.DeleteOptions{}))
	for _, server := range []string{"BIND", "Knot", "PowerDNS"} {
		until(t, func() (bool, string) {
			_, there, err := answer(all[server], "www.example.org.")
			return err == nil && !there, fmt.Sprintf("%s still has the zone (%v)", server, err)
		})
	}
}

// Attacks 29 and 30: a peer of one class gets nothing of another, and no peer gets anything without a key.
func TestPeersSeeTheirOwnClassAlone(t *testing.T) {
	s := start(t)
	s.class(t, "red", v1alpha1.TransferProvider{TSIGSecretRef: s.keep(t, "red", red), CatalogZone: redCatalog})
	s.class(t, "blue", v1alpha1.TransferProvider{TSIGSecretRef: s.keep(t, "blue", blue), CatalogZone: blueCatalog})
	s.zone(t, "red", "red.test.", "red")
	s.zone(t, "blue", "blue.test.", "blue")
	zones := map[string]*rig.TSIGKey{"red.test.": &red, redCatalog: &red, "blue.test.": &blue, blueCatalog: &blue}
	for zone, owner := range zones {
		until(t, func() (bool, string) {
			text, err := axfr(t, s.dns, zone, owner)
			return err == nil && (!strings.Contains(zone, "catalog") || strings.Contains(text, ".test.")), fmt.Sprintf("%s: %v\n%s", zone, err, text)
		})
		for _, other := range []*rig.TSIGKey{&red, &blue, nil} {
			if other == owner {
				continue
			}
			if text, err := axfr(t, s.dns, zone, other); err == nil {
				t.Errorf("%s goes to %v:\n%s", zone, other, text)
			}
		}
	}
	// A Secret that goes takes its class along; the other one stays. A paused class is not served, and comes back
	// whole.
	s.keep(t, "red", rig.TSIGKey{Name: "red.example", Algorithm: "hmac-md5", Secret: red.Secret})
	gone := func(zone string, key *rig.TSIGKey) {
		t.Helper()
		until(t, func() (bool, string) {
			_, err := axfr(t, s.dns, zone, key)
			return err != nil, zone + " is still served"
		})
	}
	gone(redCatalog, &red)
	pause := func(paused bool) {
		t.Helper()
		must.Get(s.KubizoneV1alpha1().DNSClasses().Patch(t.Context(), "blue", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"paused":%v}}`, paused), metav1.PatchOptions{}))(t)
	}
	back := func(catalog, zone string, key *rig.TSIGKey) {
		t.Helper()
		var text string
		until(t, func() (bool, string) {
			var err error
			text, err = axfr(t, s.dns, catalog, key)
			return err == nil, fmt.Sprintf("%s: %v", catalog, err)
		})
		if member(text, zone) == "" {
			t.Errorf("%s came back without %s:\n%s", catalog, zone, text)
		}
	}
	back(blueCatalog, "blue.test.", &blue)
	pause(true)
	gone(blueCatalog, &blue)
	pause(false)
	back(blueCatalog, "blue.test.", &blue)
	s.keep(t, "red", red)
	back(redCatalog, "red.test.", &red)
}

// Any number of primaries show the same, catalog, serial and all, also one that is started anew; and none of them
// shows a part of it at any moment.
func TestEveryPrimaryShowsTheSame(t *testing.T) {
	s := start(t)
	s.class(t, "red", v1alpha1.TransferProvider{TSIGSecretRef: s.keep(t, "red", red), CatalogZone: redCatalog})
	const zones = 20
	for i := range zones {
		s.zone(t, fmt.Sprintf("zone-%d", i), fmt.Sprintf("zone-%d.test.", i), "red")
	}
	// A view that no flag names is read for the class alone.
	inView := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "inside", Namespace: "team"}, Spec: v1alpha1.ZoneSpec{
		DomainName: "inside.test.", View: "inside", NameServers: []v1alpha1.NameServer{{Name: "ns", Addresses: []string{"192.0.2.53"}}}, DNSClassRefs: []v1alpha1.DNSClassReference{{Name: "red"}},
	}}
	must.Get(s.KubizoneV1alpha1().Zones("team").Create(t.Context(), inView, metav1.CreateOptions{}))(t)
	second, _ := s.primary(t)
	third, stopThird := s.primary(t)
	var text string
	same := func(members int, at ...netip.AddrPort) {
		t.Helper()
		until(t, func() (bool, string) {
			seen := map[string]bool{}
			for _, one := range at {
				catalog, err := axfr(t, one, redCatalog, &red)
				if err != nil {
					return false, err.Error()
				}
				text = catalog
				// One that was started later knows that nothing changed since, and says so by its serial.
				_, members, _ := strings.Cut(catalog, "\n")
				seen[members] = true
			}
			return len(seen) == 1 && strings.Count(text, "PTR") == members, fmt.Sprintf("%d catalogs, one with %d members, want one with %d", len(seen), strings.Count(text, "PTR"), members)
		})
	}
	same(zones+1, s.dns, second, third)
	for _, at := range []netip.AddrPort{s.dns, second} {
		if got, err := axfr(t, at, "inside.test.", &red); err != nil || !strings.Contains(got, "192.0.2.53") {
			t.Errorf("%v\n%s", err, got)
		}
	}
	// A client looks all the time: no catalog that is ever seen lacks a zone that did not go.
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if catalog, err := axfr(t, s.dns, redCatalog, &red); err == nil && strings.Count(catalog, "PTR") < zones {
				t.Errorf("a catalog with %d of %d zones", strings.Count(catalog, "PTR"), zones)
				return
			}
		}
	})
	stopThird()
	must.Succeed(t, s.KubizoneV1alpha1().Zones("team").Delete(t.Context(), "zone-0", metav1.DeleteOptions{}))
	third, _ = s.primary(t)
	same(zones, s.dns, second, third)
	// The server with it all, started anew: what is stored is what is served.
	s.stop()
	if catalog, err := axfr(t, second, redCatalog, &red); err != nil || strings.Count(catalog, "PTR") != zones {
		t.Errorf("without the API the second primary has %v\n%s", err, catalog)
	}
	s.start(t)
	same(zones, s.dns, second)
	close(stop)
	watching.Wait()
}

// RFC 1995: 500 changes while BIND and Knot are down reach each of them as one difference.
func TestASecondaryThatWasAwayCatchesUpByTheDifference(t *testing.T) {
	ctx := subject.Within(t, 4*time.Minute)
	s := start(t)
	atBIND := must.Get(rig.FreePort())(t)
	atKnot := must.Get(rig.FreePort())(t)
	s.class(t, "red", v1alpha1.TransferProvider{TSIGSecretRef: s.keep(t, "red", red), Secondaries: listed(atBIND, atKnot)})
	s.zone(t, "org", "example.org.", "red")
	// A zone of some size: of one that is as short as the difference the whole would be sent.
	big := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "big", Namespace: "team"}, Spec: v1alpha1.RecordSpec{DomainName: "big.example.org.", Type: "A"}}
	for i := range 100 {
		big.Spec.Values = append(big.Spec.Values, fmt.Sprintf("192.0.2.%d", i))
	}
	must.Get(s.KubizoneV1alpha1().Records("team").Create(ctx, big, metav1.CreateOptions{}))(t)
	s.record(t, "www", "www.example.org.", "first")
	until(t, func() (bool, string) {
		_, err := axfr(t, s.dns, "example.org.", &red)
		return err == nil, fmt.Sprint(err)
	})
	// They come when the zone is there: one that is refused what it was made to serve waits long before it asks again.
	zones := []rig.SecondaryZone{{Zone: "example.org.", Primary: s.dns, Key: red.Name}}
	bind := rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{Addr: atBIND, Keys: []rig.TSIGKey{red}, Secondaries: zones}))(t)
	knot := rig.NeedServer(rig.StartKnot(ctx, rig.KnotConfig{Addr: atKnot, Key: &red, Secondaries: zones}))(t)
	s.ready(t, "www")
	bind.Stop()
	knot.Stop()
	const changes, writers = 500, 10
	begun := time.Now()
	var writing sync.WaitGroup
	for w := range writers {
		object := fmt.Sprintf("host-%d", w)
		writing.Go(func() {
			for i := range changes / writers {
				if i == 0 {
					s.record(t, object, object+".example.org.", "first")
					continue
				}
				s.change(t, object, fmt.Sprintf("change-%d", i))
			}
		})
	}
	writing.Wait()
	s.change(t, "www", "last")
	t.Logf("%d changes in %s", changes, time.Since(begun).Round(time.Millisecond))
	must.Succeed(t, bind.Start(ctx))
	must.Succeed(t, knot.Start(ctx))
	begun = time.Now()
	s.ready(t, "www")
	t.Logf("both have them after %s", time.Since(begun).Round(time.Millisecond))
	for server, at := range map[string]netip.AddrPort{"BIND": bind.Addr, "Knot": knot.Addr} {
		if got, _, err := answer(at, "www.example.org."); err != nil || got != "last" {
			t.Errorf("%s answers %q, %v", server, got, err)
		}
	}
	if log := knot.Log(); strings.Contains(log, "AXFR, incoming") || !regexp.MustCompile(`IXFR, incoming, .* finished`).MatchString(log) {
		t.Errorf("Knot says:\n%s", log)
	}
	if log := bind.Log(); strings.Contains(log, "nonincremental") || !strings.Contains(log, "Transfer completed") {
		t.Errorf("BIND says:\n%s", log)
	}
}

// S6.6: the serial of a zone goes past that of a secondary which signs that it is ahead; too far only where an
// administrator accepts it; and what the zone contains stays as it is.
func TestASecondaryThatIsAheadIsPassed(t *testing.T) {
	ctx := subject.Within(t, 3*time.Minute)
	s := start(t)
	far := uint32(time.Now().UTC().Year()*1000000+123100) + 1<<25
	text := fmt.Sprintf("example.org. 300 IN SOA ns.example.org. host.example.org. %d 86400 7200 3600000 300\nexample.org. 300 IN NS ns.example.org.\nns.example.org. 300 IN A 192.0.2.1\n", far)
	ahead, err := rig.StartBIND(ctx, rig.BINDConfig{Keys: []rig.TSIGKey{red}, Primaries: []rig.PrimaryZone{{Zone: "example.org.", Text: text}}})
	rig.SkipMissing(t, err)
	t.Cleanup(func() { ahead.Close() })
	s.class(t, "red", v1alpha1.TransferProvider{TSIGSecretRef: s.keep(t, "red", red), Secondaries: listed(ahead.Addr)})
	s.zone(t, "org", "example.org.", "red")
	var zone *v1alpha1.Zone
	says := func(want string) {
		t.Helper()
		until(t, func() (bool, string) {
			var err error
			if zone, err = s.KubizoneV1alpha1().Zones("team").Get(ctx, "org", metav1.GetOptions{}); err != nil {
				return false, err.Error()
			}
			is := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionReady)
			return is != nil && strings.Contains(is.Message, want), fmt.Sprintf("Ready: %+v; %s", is, s.deliveries(t))
		})
	}
	accept := fmt.Sprintf("kubi.zone/accept-serial=%d", far)
	says(accept)
	hash := zone.Status.Hash
	if zone.Status.Serial >= int64(far) {
		t.Fatalf("it went to %d without being let", zone.Status.Serial)
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"kubi.zone/accept-serial":"%d"}}}`, far)
	must.Get(s.KubizoneV1alpha1().Zones("team").Patch(ctx, "org", types.MergePatchType, patch, metav1.PatchOptions{}))(t)
	until(t, func() (bool, string) {
		var err error
		zone, err = s.KubizoneV1alpha1().Zones("team").Get(ctx, "org", metav1.GetOptions{})
		return err == nil && zone.Status.Serial == int64(far)+1, fmt.Sprintf("serial %d, want %d (%v); %s", zone.Status.Serial, int64(far)+1, err, s.deliveries(t))
	})
	if zone.Status.Hash != hash {
		t.Errorf("hash %s, was %s", zone.Status.Hash, hash)
	}
}
