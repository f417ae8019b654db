// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfertest

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

var (
	Catalog = name.MustParse("catalog.example.")
	Key     = rig.TSIGKey{Name: "transfer.example", Algorithm: "hmac-sha256", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}
)

// World is also the Members of a provider.
type World struct {
	*zoneview.Set
	Addr netip.AddrPort

	primary *primary.Primary
	class   *primary.Class
	keys    []tsig.Key

	mu      sync.Mutex
	members []primary.Member
	changes serial.Serial
}

func Begin(t testing.TB) *World {
	t.Helper()
	w := &World{Set: zoneview.NewSet(zoneview.Config{}), keys: must.Get(tsig.ParseKeys(Key.Statement()))(t), changes: 1}
	w.primary = must.Get(primary.New(primary.Config{Zones: w.Set, Listen: netip.MustParseAddrPort("127.0.0.1:0"),
		NotifyInterval: 10 * time.Millisecond}))(t)
	w.Addr = w.primary.Addr()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.primary.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return w
}

// Call OpenClass when the secondaries have addresses.
func (w *World) OpenClass(t testing.TB, secondaries ...netip.AddrPort) {
	t.Helper()
	var targets []primary.Target
	for _, at := range secondaries {
		targets = append(targets, primary.Target{Addr: at})
	}
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	w.class = must.Get(w.primary.AddClass(primary.ClassConfig{Name: "public", Catalog: Catalog, Keys: w.keys,
		Allow: primary.Rules(loopback, nil), Notify: targets}, primary.Membership{Serial: 1}))(t)
}

func (w *World) Name(uid string) name.Name {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.members {
		if m.UID == uid {
			return m.Zone
		}
	}
	return name.Name{}
}

func (w *World) Holder(zone name.Name) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.members {
		if m.Zone == zone {
			return m.UID
		}
	}
	return ""
}

// StoreMember removes the member if the zone is zero.
func (w *World) StoreMember(uid string, zone name.Name) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.members = slices.DeleteFunc(slices.Clone(w.members), func(m primary.Member) bool { return m.UID == uid })
	if !zone.IsZero() {
		w.members = append(w.members, primary.Member{UID: uid, Zone: zone})
	}
	w.changes++
	w.class.SetMembers(primary.Membership{Members: w.members, Serial: w.changes})
}

func (w *World) ServedSerial(uid string) serial.Serial {
	if s, ok := w.Settled(uid); ok {
		return s.Serial()
	}
	return 0
}

func (w *World) LatestSerial(_ context.Context, uid string) (serial.Serial, error) {
	return w.ServedSerial(uid), nil
}

// StoringFence stores the plan's member whenever fence passes.
func (w *World) StoringFence(plan delivery.Plan, fence delivery.Fence) delivery.Fence {
	return func(ctx context.Context) error {
		err := fence(ctx)
		if err == nil {
			w.StoreMember(plan.UID, plan.Zone)
		}
		return err
	}
}

func (w *World) ReadKey() *transfer.Key {
	return &transfer.Key{Name: w.keys[0].Name, Algorithm: string(w.keys[0].Algorithm), MAC: w.keys[0].MAC}
}

func (w *World) PutZone(t testing.TB, plan delivery.Plan) {
	t.Helper()
	h := content.Header{FQDN: plan.Zone, TTL: 3600, PrimaryNameServer: "ns1.provider.example.", Contact: "hostmaster", Refresh: 86400,
		Retry: 7200, Expire: 3600000, NegativeResponseCache: 360}
	var sets []content.RRset
	for set := range plan.All {
		owner, ok := set.Name.Rel(plan.Zone)
		if !ok {
			t.Fatalf("%s is not in %s", set.Name, plan.Zone)
		}
		one := content.RRset{Owner: owner, Type: set.Type, TTL: content.ExplicitTTL(set.TTL)}
		for _, text := range set.Data {
			one.Data = append(one.Data, must.Get(rdata.Parse(set.Type, text))(t).Text)
		}
		slices.Sort(one.Data)
		sets = append(sets, one)
	}
	slices.SortFunc(sets, content.RRset.Compare)
	state := content.Step{}.State
	for _, set := range sets {
		state = must.Get(state.Update(nil, set.Elements(nil)))(t)
	}
	w.Put(zoneview.NewSnapshot(zoneview.Zone{UID: plan.UID}, h, plan.Serial, uint64(plan.Serial), state, slices.Values(sets)), true)
}

// PlanOf returns a plan for a zone of one NS.
func PlanOf(uid, zone string, at serial.Serial) delivery.Plan {
	n := name.MustParse(zone)
	ns := delivery.RRset{Name: n, Type: rdata.NS, TTL: 3600, Data: []string{"ns1.provider.example."}}
	return delivery.Plan{Zone: n, UID: uid, Serial: at, All: slices.Values([]delivery.RRset{ns}), CallTimeout: 5 * time.Second}
}
