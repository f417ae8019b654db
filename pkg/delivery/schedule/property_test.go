// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/schedule"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/deliverytest"
)

type chance struct {
	mu   sync.Mutex
	rand *rand.Rand
}

func (c *chance) oneIn(n int) bool { return c.drawNumber(n) == 0 }

func (c *chance) drawNumber(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rand.IntN(n)
}

// faultSwitch draws a fault at each point while on.
type faultSwitch struct {
	atomic.Bool
	chance *chance
}

func (f *faultSwitch) makeFault(ctx context.Context, at deliverytest.Point) error {
	if !f.Load() || !f.chance.oneIn(4) {
		return nil
	}
	switch f.chance.drawNumber(7) {
	case 0:
		return &delivery.Error{Reason: delivery.ReasonServerError, Code: "500", Message: "on fire"}
	case 1:
		return &delivery.Error{Reason: delivery.ReasonRateLimited, Code: "429", Message: "less", RetryAfter: 3 * time.Second, WholeClass: f.chance.oneIn(2)}
	case 2:
		return deliverytest.Slow(ctx, at)
	case 3:
		return errors.New("of no known form")
	case 4:
		panic("odd")
	case 5:
		time.Sleep(time.Duration(f.chance.drawNumber(10_000)) * time.Millisecond) // late, past its context
		return nil
	default:
		return &delivery.Error{Reason: delivery.ReasonValidationFailed, Message: "never", Permanent: true}
	}
}

// mortal fails every call of a dead process.
type mortal struct {
	*memoryStore
	died  *atomic.Bool
	begun map[string]*order // by class
}

func (s mortal) Load(ctx context.Context, key delivery.Key) (delivery.State, error) {
	if s.died.Load() {
		return delivery.State{}, errAway
	}
	return s.memoryStore.Load(ctx, key)
}

func (s mortal) Save(ctx context.Context, key delivery.Key, state delivery.State) (string, error) {
	if s.died.Load() {
		return "", errAway
	}
	version, err := s.memoryStore.Save(ctx, key, state)
	if err == nil {
		s.begun[key.Class].noteStored(key.UID, state)
	}
	return version, err
}

// Zones change at random, provider and store fail, workers restart, and two workers run at the same time. When all is
// quiet, every provider has every zone exactly, foreign records are still there, and no RRset is pending.
func TestLoop_converges(t *testing.T) {
	seeds := 60
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runConvergence(t, uint64(seed)) })
		})
	}
}

func runConvergence(t *testing.T, seed uint64) {
	random := &chance{rand: rand.New(rand.NewPCG(seed, 1))}
	store := newStore()
	storeFault, providerFault := &faultSwitch{chance: random}, &faultSwitch{chance: random}
	store.Fault = func(string, bool) error {
		if storeFault.Load() && random.oneIn(6) {
			return errors.New("etcd is away")
		}
		return nil
	}
	master := zoneview.NewSet(zoneview.Config{})
	servers := map[string]*deliverytest.Server{"lists": deliverytest.NewServer(), "blind": deliverytest.NewServer()}
	refused := func(set delivery.RRset) *delivery.Error {
		if providerFault.Load() && strings.HasPrefix(set.Name.String(), "c.") {
			return &delivery.Error{Reason: delivery.ReasonValidationFailed, Message: "no c", Permanent: random.oneIn(2)}
		}
		return nil
	}
	begun, orders := map[string]*order{}, []*order{}
	newOrder := func() *order {
		o := &order{newest: map[string]serial.Serial{}, since: map[string]time.Time{}}
		orders = append(orders, o)
		return o
	}
	for class := range servers {
		begun[class] = newOrder()
	}
	whose := map[name.Name]string{} // holder's uid by name
	zones := []*deliverytest.Zone{deliverytest.NewZone(t, "z0", "zero.example.", master), deliverytest.NewZone(t, "z1", "one.example.", master), deliverytest.NewZone(t, "z2", "two.example.", master)}
	for _, zone := range zones {
		whose[zone.Header.FQDN] = zone.UID
	}
	foreign := delivery.RRset{Name: name.MustParse("theirs.one.example."), Type: rdata.A, TTL: 1, Data: []string{"198.51.100.1"}}
	for _, server := range servers {
		server.Disturb(zones[1].Header.FQDN, foreign)
	}

	running := make([]*worker, 2)
	dies := make([]*atomic.Bool, 2)
	start := func(at int) {
		died := &atomic.Bool{}
		dies[at] = died
		views := zoneview.NewSet(zoneview.Config{MaxSteps: 3})
		for snapshot := range master.All() {
			views.Put(snapshot, true)
		}
		w := startWorker(t, mortal{store, died, begun}, views, func(c *schedule.Config) {
			c.History = readHistory(master)
			c.Workers = 4 // two a tenant
		})
		running[at] = w
		for class, server := range servers {
			own := newOrder() // a worker begins nothing older than its own last plan, stored or not
			w.SetClass(delivery.Class{Name: class, Generation: "1", Target: "here", RequestsPerSecond: 1000, DriftInterval: 20 * time.Minute,
				Provider: &deliverytest.Memory{Server: server, Blind: class == "blind", Refuse: refused, Fault: func(ctx context.Context, at deliverytest.Point) error {
					if died.Load() {
						return errAway
					}
					if !at.Applied && at.Method != "Verify" && at.Method != "Health" {
						uid := whose[at.Zone]
						begun[class].noteBegin(uid, at)
						own.noteBegin(uid, at)
						own.noteStored(uid, delivery.State{Serial: at.Serial})
					}
					return providerFault.makeFault(ctx, at)
				}}})
		}
		for _, zone := range zones {
			w.SetZone(zoneOf(zone.UID, "lists", "blind"))
		}
	}
	follow := func(w *worker) {
		for snapshot := range master.All() {
			uid := snapshot.Zone().UID
			seen, ok := w.views.ByUID(uid)
			if !ok || seen.Serial() == snapshot.Serial() {
				continue
			}
			steps, err := master.Changes(uid, seen.Serial(), snapshot.Serial())
			if err == nil {
				err = w.views.Apply(uid, content.Transaction{Steps: steps, Settled: true}, snapshot.Zone())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	start(0)
	for range 80 {
		switch random.drawNumber(12) {
		default:
			changes := map[string]string{}
			for range 1 + random.drawNumber(4) {
				changes[string(rune('a'+random.drawNumber(6)))] = []string{"", "192.0.2.1", "192.0.2.2"}[random.drawNumber(3)]
			}
			zones[random.drawNumber(len(zones))].PutAddresses(changes)
		case 0:
			providerFault.Store(random.oneIn(2))
		case 1:
			storeFault.Store(random.oneIn(3))
		case 2:
			if at := random.drawNumber(2); running[at] != nil {
				dies[at].Store(random.oneIn(2)) // a crash: no more calls, no more saves
				running[at].stop()
				running[at] = nil
			} else if running[1-at] == nil {
				start(at)
			}
		case 3, 4, 5:
			time.Sleep(time.Duration(random.drawNumber(40)) * time.Second)
		}
		for _, w := range running {
			if w != nil && random.oneIn(2) {
				follow(w)
			}
		}
		time.Sleep(time.Duration(random.drawNumber(2000)) * time.Millisecond)
	}
	providerFault.Store(false)
	storeFault.Store(false)
	for at, w := range running {
		if w == nil && running[1-at] != nil {
			continue
		}
		if w == nil {
			start(at)
		} else {
			follow(w)
			w.Retry("lists")
			w.Retry("blind")
		}
	}
	passTime(2 * time.Hour)
	for class, server := range servers {
		for _, zone := range zones {
			got, want := server.Addresses(zone.Header.FQDN), zone.ListWanted()
			if zone == zones[1] {
				want[foreign.Name.String()] = foreign.Data[0]
			}
			if !maps.Equal(got, want) {
				t.Errorf("seed %d: %s of class %s at %d has\n%v\nthe zone\n%v", seed, zone.Header.FQDN, class, zone.Serial, got, want)
			}
			if state := store.readState(zone.UID, class); state.Serial != zone.Serial || state.Intent != nil || state.Error != nil ||
				state.Failed != 0 || state.Ready.Status != delivery.True {
				t.Errorf("seed %d: %s of class %s at %d: %+v", seed, zone.Header.FQDN, class, zone.Serial, state)
			}
		}
	}
	for _, o := range orders {
		o.checkOrder(t)
	}
	writes, states := len(servers["lists"].Writes())+len(servers["blind"].Writes()), store.countWrites()
	passTime(2 * time.Hour)
	if len(servers["lists"].Writes())+len(servers["blind"].Writes()) != writes || store.countWrites() != states {
		t.Errorf("seed %d: it does not come to rest", seed)
	}
	for _, w := range running {
		if w != nil {
			w.stop()
		}
	}
}

// order records, by uid, the serials stored as begun or confirmed and the writes that the fence admits.
type order struct {
	mu     sync.Mutex
	newest map[string]serial.Serial
	since  map[string]time.Time
	wrong  []string
}

func (o *order) noteStored(uid string, state delivery.State) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := state.Serial
	if state.Intent != nil && (at == 0 || state.Intent.Serial.Ahead(at)) {
		at = state.Intent.Serial
	}
	if at != 0 && (o.newest[uid] == 0 || at.Ahead(o.newest[uid])) {
		o.newest[uid], o.since[uid] = at, time.Now()
	}
}

// noteBegin allows no older plan after a newer one was stored, except at the same instant: a holder stores nothing
// beforehand, and late calls after a takeover are repeated.
func (o *order) noteBegin(uid string, at deliverytest.Point) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if newest := o.newest[uid]; newest != 0 && newest.Ahead(at.Serial) && time.Now().After(o.since[uid]) {
		o.wrong = append(o.wrong, fmt.Sprintf("serial %d of %s is begun %s after %d: %+v", at.Serial, at.Zone, time.Since(o.since[uid]), newest, at.Set))
	}
}

func (o *order) checkOrder(t *testing.T) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, wrong := range o.wrong {
		t.Error(wrong)
	}
}
