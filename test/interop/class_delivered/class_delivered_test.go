// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package class_delivered proves: a DNSClass with a transfer block controls real secondaries. Zones appear, change,
// are replaced and disappear on BIND, Knot and PowerDNS by the class's catalog, and on NSD by static configuration. A
// Record is Ready when every listed secondary answers with it. Peers of a class see nothing of another class. All
// primaries show the same. A zone signed by a secondary, with the files of docs/dnssec.md, is current when its data
// equals the zone's.
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

func listSecondaries(at ...netip.AddrPort) []v1alpha1.Secondary {
	var all []v1alpha1.Secondary
	for _, one := range at {
		all = append(all, v1alpha1.Secondary{Address: one.String()})
	}
	return all
}

func findMember(catalog, zone string) string {
	found := regexp.MustCompile(`(?m)^(\S+)\.zones\.\S+\s.*\sPTR\s+` + regexp.QuoteMeta(zone) + `$`).FindStringSubmatch(catalog)
	if found == nil {
		return ""
	}
	return found[1]
}

func TestZonesAppearChangeAndDisappear(t *testing.T) {
	t.Parallel() // mostly waits
	ctx := rig.Within(t, 3*time.Minute)
	s := startServer(t)
	catalogs := []rig.SecondaryZone{{Zone: redCatalog, Primary: s.dns, Key: red.Name}}
	bind := rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{Keys: []rig.TSIGKey{red}, Catalogs: catalogs}))(t)
	knot := rig.NeedServer(rig.StartKnot(ctx, rig.KnotConfig{Key: &red, Catalogs: catalogs}))(t)
	nsd := rig.NeedServer(rig.StartNSD(ctx, rig.NSDConfig{Keys: []rig.TSIGKey{red}, Secondaries: []rig.SecondaryZone{{Zone: "example.org.", Primary: s.dns, Key: red.Name}}}))(t)
	pdns := rig.NeedServer(rig.StartPowerDNS(ctx, rig.PowerDNSConfig{Catalogs: []rig.SecondaryZone{{Zone: "plain.catalog.example.", Primary: s.dns}}}))(t)
	all := map[string]netip.AddrPort{"BIND": bind.Addr, "Knot": knot.Addr, "NSD": nsd.Addr, "PowerDNS": pdns.Addr}
	s.makeClass(t, "red", v1alpha1.TransferProvider{TSIGSecretRef: s.keepKey(t, "red", red), CatalogZone: redCatalog,
		Secondaries: listSecondaries(bind.Addr, knot.Addr, nsd.Addr)})
	s.makeClass(t, "plain", v1alpha1.TransferProvider{CatalogZone: "plain.catalog.example.", Secondaries: listSecondaries(pdns.Addr)})

	s.makeZone(t, "org", "example.org.", "red", "plain")
	s.makeRecord(t, "www", "www.example.org.", "first")
	everywhere := func(want string) {
		t.Helper()
		for server, at := range all {
			if got, _, err := readTXT(at, "www.example.org."); err != nil || got != want {
				t.Errorf("Ready, and %s answers %q (%v), want %q", server, got, err, want)
			}
		}
	}
	s.waitForReady(t, "www")
	everywhere("first")
	s.changeRecord(t, "www", "second")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("NSD says:\n%s", nsd.Log())
		}
	})
	at := s.waitForReady(t, "www").Status.Serial
	everywhere("second")

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

	// Replaced: another object of the same name, with other content and another member id.
	before, err := transferZone(t, s.dns, redCatalog, &red)
	if err != nil || findMember(before, "example.org.") == "" {
		t.Fatalf("%v\n%s", err, before)
	}
	must.Succeed(t, s.KubizoneV1alpha1().Records("team").Delete(ctx, "www", metav1.DeleteOptions{}))
	remove := func() {
		t.Helper()
		must.Succeed(t, s.KubizoneV1alpha1().Zones("team").Delete(ctx, "org", metav1.DeleteOptions{}))
		waitUntil(t, func() (bool, string) {
			_, err := s.KubizoneV1alpha1().Zones("team").Get(ctx, "org", metav1.GetOptions{})
			return err != nil, "the Zone does not go; " + s.describeDeliveries(t)
		})
	}
	remove()
	s.makeZone(t, "again", "example.org.", "red", "plain")
	s.makeRecord(t, "anew", "www.example.org.", "third")
	s.waitForReady(t, "anew")
	everywhere("third")
	after, err := transferZone(t, s.dns, redCatalog, &red)
	if id := findMember(after, "example.org."); err != nil || id == "" || id == findMember(before, "example.org.") {
		t.Errorf("member %q, was %q, %v", id, findMember(before, "example.org."), err)
	}
	must.Succeed(t, s.KubizoneV1alpha1().Zones("team").Delete(ctx, "again", metav1.DeleteOptions{}))
	for _, server := range []string{"BIND", "Knot", "PowerDNS"} {
		waitUntil(t, func() (bool, string) {
			_, there, err := readTXT(all[server], "www.example.org.")
			return err == nil && !there, fmt.Sprintf("%s still has the zone (%v)", server, err)
		})
	}
}

// Attacks 29 and 30: a peer of a class gets nothing of another class, and without a key, a peer gets nothing.
func TestPeersSeeTheirOwnClassAlone(t *testing.T) {
	t.Parallel() // mostly waits
	s := startServer(t)
	s.makeClass(t, "red", v1alpha1.TransferProvider{TSIGSecretRef: s.keepKey(t, "red", red), CatalogZone: redCatalog})
	s.makeClass(t, "blue", v1alpha1.TransferProvider{TSIGSecretRef: s.keepKey(t, "blue", blue), CatalogZone: blueCatalog})
	s.makeZone(t, "red", "red.test.", "red")
	s.makeZone(t, "blue", "blue.test.", "blue")
	zones := map[string]*rig.TSIGKey{"red.test.": &red, redCatalog: &red, "blue.test.": &blue, blueCatalog: &blue}
	for zone, owner := range zones {
		waitUntil(t, func() (bool, string) {
			text, err := transferZone(t, s.dns, zone, owner)
			return err == nil && (!strings.Contains(zone, "catalog") || strings.Contains(text, ".test.")), fmt.Sprintf("%s: %v\n%s", zone, err, text)
		})
		for _, other := range []*rig.TSIGKey{&red, &blue, nil} {
			if other == owner {
				continue
			}
			if text, err := transferZone(t, s.dns, zone, other); err == nil {
				t.Errorf("%s goes to %v:\n%s", zone, other, text)
			}
		}
	}
	// Without its Secret, a class is not served; the other class stays. A paused class is not served, and returns
	// complete.
	s.keepKey(t, "red", rig.TSIGKey{Name: "red.example", Algorithm: "hmac-md5", Secret: red.Secret})
	gone := func(zone string, key *rig.TSIGKey) {
		t.Helper()
		waitUntil(t, func() (bool, string) {
			_, err := transferZone(t, s.dns, zone, key)
			return err != nil, zone + " is still served"
		})
	}
	gone(redCatalog, &red)
	pause := func(paused bool) {
		t.Helper()
		must.Get(s.KubizoneV1alpha1().DNSClasses().Patch(t.Context(), "blue", types.MergePatchType,
			fmt.Appendf(nil, `{"spec":{"paused":%v}}`, paused), metav1.PatchOptions{}))(t)
	}
	back := func(catalog, zone string, key *rig.TSIGKey) {
		t.Helper()
		var text string
		waitUntil(t, func() (bool, string) {
			var err error
			text, err = transferZone(t, s.dns, catalog, key)
			return err == nil, fmt.Sprintf("%s: %v", catalog, err)
		})
		if findMember(text, zone) == "" {
			t.Errorf("%s came back without %s:\n%s", catalog, zone, text)
		}
	}
	back(blueCatalog, "blue.test.", &blue)
	pause(true)
	gone(blueCatalog, &blue)
	pause(false)
	back(blueCatalog, "blue.test.", &blue)
	s.keepKey(t, "red", red)
	back(redCatalog, "red.test.", &red)
}

// All primaries always show the same whole catalog, serial included, even after a restart.
func TestEveryPrimaryShowsTheSame(t *testing.T) {
	t.Parallel() // mostly waits
	s := startServer(t)
	s.makeClass(t, "red", v1alpha1.TransferProvider{TSIGSecretRef: s.keepKey(t, "red", red), CatalogZone: redCatalog})
	const zones = 20
	for i := range zones {
		s.makeZone(t, fmt.Sprintf("zone-%d", i), fmt.Sprintf("zone-%d.test.", i), "red")
	}
	// A view not in the flags is read for the class.
	inView := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "inside", Namespace: "team"}, Spec: v1alpha1.ZoneSpec{
		DomainName: "inside.test.", View: "inside", NameServers: []v1alpha1.NameServer{{Name: "ns", Addresses: []string{"192.0.2.53"}}}, DNSClassRefs: []v1alpha1.DNSClassReference{{Name: "red"}},
	}}
	must.Get(s.KubizoneV1alpha1().Zones("team").Create(t.Context(), inView, metav1.CreateOptions{}))(t)
	program := must.Get(rig.Kubizone(t.Context(), t.TempDir(), ""))(t)
	second, _ := s.startPrimary(t, program)
	third, stopThird := s.startPrimary(t, program)
	var text string
	same := func(members int, at ...netip.AddrPort) {
		t.Helper()
		waitUntil(t, func() (bool, string) {
			seen := map[string]bool{}
			for _, one := range at {
				catalog, err := transferZone(t, one, redCatalog, &red)
				if err != nil {
					return false, err.Error()
				}
				text = catalog
				// The SOA is not compared, since a primary started later may have another serial.
				_, members, _ := strings.Cut(catalog, "\n")
				seen[members] = true
			}
			return len(seen) == 1 && strings.Count(text, "PTR") == members, fmt.Sprintf("%d catalogs, one with %d members, want one with %d", len(seen), strings.Count(text, "PTR"), members)
		})
	}
	same(zones+1, s.dns, second, third)
	for _, at := range []netip.AddrPort{s.dns, second} {
		if got, err := transferZone(t, at, "inside.test.", &red); err != nil || !strings.Contains(got, "192.0.2.53") {
			t.Errorf("%v\n%s", err, got)
		}
	}
	// A client polls all the time: no catalog ever lacks a remaining zone.
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if catalog, err := transferZone(t, s.dns, redCatalog, &red); err == nil && strings.Count(catalog, "PTR") < zones {
				t.Errorf("a catalog with %d of %d zones", strings.Count(catalog, "PTR"), zones)
				return
			}
		}
	})
	stopThird()
	must.Succeed(t, s.KubizoneV1alpha1().Zones("team").Delete(t.Context(), "zone-0", metav1.DeleteOptions{}))
	third, _ = s.startPrimary(t, program)
	same(zones, s.dns, second, third)
	// After a restart of the whole server, the stored state is served.
	s.stop()
	if catalog, err := transferZone(t, second, redCatalog, &red); err != nil || strings.Count(catalog, "PTR") != zones {
		t.Errorf("without the API the second primary has %v\n%s", err, catalog)
	}
	s.startUp(t)
	same(zones, s.dns, second)
	close(stop)
	watching.Wait()
}

// A secondary that signs has a serial far ahead of the zone's. Ready asks an administrator to accept the large step;
// after this the zone gets the next serial after the secondary's, with unchanged content (S6.11).
func TestASecondaryThatIsAheadIsPassed(t *testing.T) {
	t.Parallel() // mostly waits
	ctx := rig.Within(t, 3*time.Minute)
	s := startServer(t)
	far := uint32(time.Now().UTC().Year()*1000000+123100) + 1<<25
	text := fmt.Sprintf("example.org. 300 IN SOA ns.example.org. host.example.org. %d 86400 7200 3600000 300\nexample.org. 300 IN NS ns.example.org.\nns.example.org. 300 IN A 192.0.2.1\n", far)
	ahead := rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{Keys: []rig.TSIGKey{red}, Primaries: []rig.PrimaryZone{{Zone: "example.org.", Text: text}}}))(t)
	s.makeClass(t, "red", v1alpha1.TransferProvider{TSIGSecretRef: s.keepKey(t, "red", red), Secondaries: listSecondaries(ahead.Addr)})
	s.makeZone(t, "org", "example.org.", "red")
	var zone *v1alpha1.Zone
	expect := func(want string) {
		t.Helper()
		waitUntil(t, func() (bool, string) {
			var err error
			if zone, err = s.KubizoneV1alpha1().Zones("team").Get(ctx, "org", metav1.GetOptions{}); err != nil {
				return false, err.Error()
			}
			is := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionReady)
			return is != nil && strings.Contains(is.Message, want), fmt.Sprintf("Ready: %+v; %s", is, s.describeDeliveries(t))
		})
	}
	accept := fmt.Sprintf("kubi.zone/accept-serial=%d", far)
	expect(accept)
	hash := zone.Status.Hash
	if zone.Status.Serial >= int64(far) {
		t.Fatalf("it went to %d without being let", zone.Status.Serial)
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"kubi.zone/accept-serial":"%d"}}}`, far)
	must.Get(s.KubizoneV1alpha1().Zones("team").Patch(ctx, "org", types.MergePatchType, patch, metav1.PatchOptions{}))(t)
	waitUntil(t, func() (bool, string) {
		var err error
		zone, err = s.KubizoneV1alpha1().Zones("team").Get(ctx, "org", metav1.GetOptions{})
		return err == nil && zone.Status.Serial == int64(far)+1, fmt.Sprintf("serial %d, want %d (%v); %s", zone.Status.Serial,
			int64(far)+1, err, s.describeDeliveries(t))
	})
	if zone.Status.Hash != hash {
		t.Errorf("hash %s, was %s", zone.Status.Hash, hash)
	}
}
