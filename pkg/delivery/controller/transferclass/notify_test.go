// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transferclass

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery/transfer"
	"kubi.zone/kubizone/pkg/dns/name"
	wire "kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/test/must"
)

var (
	zoneName    = name.MustParse("example.org.")
	catalogName = name.MustParse("catalog.example.")
)

func makeFault(s *transfer.Secondary, zone name.Name, answer string) (primary.Target, *primary.NotifyFault) {
	target := primary.Target{Addr: s.Addr}
	return target, &primary.NotifyFault{Target: target, Zone: zone, Answer: answer, From: netip.MustParseAddr("10.0.0.7"),
		Since: time.Unix(1700000000, 0)}
}

func describeRows(rows []v1alpha1.DeliveryNotify) string {
	var all []string
	for _, row := range rows {
		all = append(all, strings.TrimSpace(row.Server+" "+row.Answer+" "+row.Catalog))
	}
	return strings.Join(all, ", ")
}

// A row comes with a fault, and goes with the confirmation. What is not known yet stays, and so does a decision of
// another primary: two primaries, one of which the server refuses, do not write by turns.
func TestReports_writeOnlyChanges_S7_12(t *testing.T) {
	a := transfer.Secondary{Name: "192.0.2.1", Addr: netip.MustParseAddrPort("192.0.2.1:53")}
	b := transfer.Secondary{Name: "192.0.2.2", Addr: netip.MustParseAddrPort("192.0.2.2:53")}
	peers := Peers{Secondaries: []transfer.Secondary{a, b}, Catalog: catalogName}
	r, clock := newReports(), time.Unix(1700000000, 0)
	at, known := cache.NewObjectName("team", "d"), &waiting{serial: 7}
	report := func(step, want string, faults map[primary.Target]*primary.NotifyFault) {
		t.Helper()
		rows, fresh := r.decideRows(at, known, peers, faults, nil, clock)
		maps.Copy(r.last, fresh)
		known.notify = rows
		if got := describeRows(rows); got != want {
			t.Errorf("%s: %q, want %q", step, got, want)
		}
	}
	target, refused := makeFault(&a, catalogName, "REFUSED")
	other := primary.Target{Addr: b.Addr}
	report("not known yet", "", nil)
	report("refused", "192.0.2.1 REFUSED catalog.example.", map[primary.Target]*primary.NotifyFault{target: refused, other: nil})
	report("open again", "192.0.2.1 REFUSED catalog.example.", nil)
	known.notify = nil
	report("another primary had the confirmation", "", map[primary.Target]*primary.NotifyFault{target: refused})
	clock = clock.Add(reportAgain)
	report("still refused", "192.0.2.1 REFUSED catalog.example.", map[primary.Target]*primary.NotifyFault{target: refused})
	known.notify = nil
	report("another primary had the confirmation again", "", map[primary.Target]*primary.NotifyFault{target: refused})
	known.serial = 8
	report("after the next serial", "192.0.2.1 REFUSED catalog.example.", map[primary.Target]*primary.NotifyFault{target: refused})
	_, silent := makeFault(&a, catalogName, "NoAnswer")
	report("another answer", "192.0.2.1 NoAnswer catalog.example.", map[primary.Target]*primary.NotifyFault{target: silent})
	report("confirmed", "", map[primary.Target]*primary.NotifyFault{target: nil, other: nil})
	report("the same again", "192.0.2.1 NoAnswer catalog.example.", map[primary.Target]*primary.NotifyFault{target: silent})
	report("confirmed again", "", map[primary.Target]*primary.NotifyFault{target: nil, other: nil})
	known.notify = []v1alpha1.DeliveryNotify{{Server: "192.0.2.9", Answer: "REFUSED"}, {Server: "192.0.2.2", Answer: "REFUSED"}}
	report("a server left the class", "192.0.2.2 REFUSED", map[primary.Target]*primary.NotifyFault{target: nil})

	peers, known.notify = Peers{}, nil
	faults, want := map[primary.Target]*primary.NotifyFault{}, []string{}
	for n := range 3 * maxReported {
		one := transfer.Secondary{Name: fmt.Sprint("s", n), Addr: netip.AddrPortFrom(a.Addr.Addr(), uint16(1000+n))}
		target, fault := makeFault(&one, zoneName, "REFUSED")
		peers.Secondaries, faults[target] = append(peers.Secondaries, one), fault
		if n < maxReported {
			want = append(want, one.Name+" REFUSED")
		}
	}
	report("many", strings.Join(want, ", "), faults)
}

// A server that refuses NOTIFY for 1,000 zones is named in each within the promised time. Another server, of a single
// zone, is among the first two.
func TestReports_ofManyZonesAreInTime_S7_12(t *testing.T) {
	a := transfer.Secondary{Name: "192.0.2.1", Addr: netip.MustParseAddrPort("192.0.2.1:53")}
	b := transfer.Secondary{Name: "192.0.2.2", Addr: netip.MustParseAddrPort("192.0.2.2:53")}
	members, _ := newMembers()
	c := &Controller{Config: Config{Members: members}, reports: newReports(),
		serving: map[string]*serving{"red": {peers: Peers{Secondaries: []transfer.Secondary{a, b}}}}}
	const zones, promised, faultAfter = 1000, 45 * time.Second, 5 * time.Second
	apply := func(uid string, revision int, rows []v1alpha1.DeliveryNotify) {
		one := deliveryOf("red", uid, uid+".example.", revision)
		one.Status.Notify = rows
		must.Succeed(t, store{members}.Update(one))
	}
	for n := range zones {
		apply(fmt.Sprint("z", n), n+1, nil)
	}
	faultsOf := func(_ *primary.Class, uid string) map[primary.Target]*primary.NotifyFault {
		target, fault := makeFault(&a, zoneName, "REFUSED")
		faults := map[primary.Target]*primary.NotifyFault{target: fault}
		if uid == "z7" {
			other, fault := makeFault(&b, zoneName, "REFUSED")
			faults[other] = fault
		}
		return faults
	}
	for pass := 1; ; pass++ {
		all := c.collectReports(faultsOf, func(*primary.Class) map[netip.Addr]primary.TLSFault { return nil })
		if len(all) == 0 {
			return
		}
		if took := faultAfter + time.Duration(pass)*reportInterval; took > promised {
			t.Fatalf("after %s %d zones name no server", took, len(all))
		}
		if pass == 1 {
			text := describeRows(append(all[0].rows, all[1].rows...))
			if !strings.Contains(text, a.Name) || !strings.Contains(text, b.Name) {
				t.Errorf("the first are %s", text)
			}
		}
		for n, one := range all[:min(maxReports, len(all))] {
			maps.Copy(c.reports.last, one.fresh)
			apply(strings.TrimSuffix(one.delivery.Name, "-red"), zones*pass+n+1, one.rows)
		}
	}
}

// The message has the line to write for each answer. A key needs no address. Without a key, the server's log names the
// address, because the server may see a node's in place of the primary's.
func TestDescribeFault_hasTheLineToWrite(t *testing.T) {
	plain := transfer.Secondary{Name: "192.0.2.1", Addr: netip.MustParseAddrPort("192.0.2.1:53")}
	keyed := plain
	keyed.Key = &wire.Key{Name: "transfer.example."}
	for _, test := range []struct {
		of     transfer.Secondary
		zone   name.Name
		answer string
		want   []string
	}{
		{plain, zoneName, "REFUSED", []string{
			"192.0.2.1 answers REFUSED to NOTIFY for the zone, which left the primary from 10.0.0.7; admit",
			"ADDRESS the address that its log names for the NOTIFY", "allow-notify { ADDRESS; };",
			"an acl with address: ADDRESS, action: notify", "allow-notify: ADDRESS NOKEY"}},
		{keyed, catalogName, "REFUSED", []string{"the catalog zone catalog.example., which left the primary from 10.0.0.7",
			`allow-notify { key "transfer.example"; };`, "an acl with key: transfer.example, action: notify",
			"allow-notify: 0.0.0.0/0 transfer.example and allow-notify: ::/0 transfer.example"}},
		{plain, zoneName, "NXDOMAIN", []string{"answers NXDOMAIN", "; it lacks the zone: make it a secondary of that"}},
		{plain, catalogName, "NOTAUTH", []string{"if it lacks the catalog zone catalog.example., make", "action: notify"}},
		{plain, zoneName, "NoAnswer", []string{"does not answer NOTIFY", "firewalls"}},
		{keyed, zoneName, "BADKEY", []string{"answers BADKEY", "the same key transfer.example"}},
		{plain, zoneName, "SERVFAIL", []string{"answers SERVFAIL", "see its log"}},
	} {
		_, fault := makeFault(&test.of, test.zone, test.answer)
		row := rowOfFault(&test.of, fault, catalogName)
		for _, want := range test.want {
			if text := row.Message + "; " + row.Remedy; !strings.Contains(text, want) {
				t.Errorf("%s: %q lacks %q", test.answer, text, want)
			}
		}
	}
}

// A row is remembered only if the patch was stored: not of a Delivery that was replaced meanwhile. The refusal of an
// invalid Delivery leaves the others; a missing right concerns all.
func TestPatchNotify_returnsWhetherStored(t *testing.T) {
	of := v1alpha1.Resource("deliveries")
	for _, test := range []struct {
		answer                      error
		isStored, fails, isOfObject bool
	}{
		{nil, true, false, false},
		{apierrors.NewConflict(of, "d", errors.New("the uid is another")), false, false, true},
		{apierrors.NewNotFound(of, "d"), false, false, true},
		{apierrors.NewInvalid(v1alpha1.Kind("Delivery"), "d", nil), false, true, true},
		{apierrors.NewForbidden(of, "d", errors.New("no right")), false, true, false},
		{apierrors.NewTooManyRequests("wait", 1), false, true, false},
		{apierrors.NewServiceUnavailable("away"), false, true, false},
		{context.DeadlineExceeded, false, true, false},
	} {
		client := fake.NewClientset()
		client.PrependReactor("patch", "deliveries", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, &v1alpha1.Delivery{}, test.answer
		})
		c := &Controller{Config: Config{Client: client}}
		isStored, err := c.patchNotify(t.Context(), cache.NewObjectName("team", "d"), "u", nil)
		if isStored != test.isStored || (err != nil) != test.fails || isOfObject(test.answer) != test.isOfObject {
			t.Errorf("%v: stored %v, error %v, of the object: %v", test.answer, isStored, err, isOfObject(test.answer))
		}
	}
}
