// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/store"
)

// severed is a connection to etcd that breaks at a write, before the transaction.
type severed struct {
	clientv3.KV
	left   atomic.Int64
	broken chan struct{}
	// read counts the keys of waiting objects that cascades have read, and not the rounds beside them.
	read atomic.Int64
	// leave, if not nil, is the error of writes that get no answer.
	leave error
}

var errSevered = errors.New("the line to etcd is broken (a fault of a test)")

func (s *severed) isBroken() bool {
	select {
	case <-s.broken:
		return true
	default:
		return false
	}
}

// Do is Get, too: the layers above turn one into the other.
func (s *severed) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	if s.isBroken() {
		return clientv3.OpResponse{}, errSevered
	}
	r, err := s.KV.Do(ctx, op)
	_, isOfCascade := ctx.Value(etcd.PayersKey{}).([]etcd.Payer)
	if err == nil && isOfCascade && strings.Contains(string(op.KeyBytes()), "/orphans/") {
		s.read.Add(int64(len(r.Get().Kvs)))
	}
	return r, err
}

func (s *severed) Txn(ctx context.Context) clientv3.Txn {
	return &spiedTxn{Txn: s.KV.Txn(ctx), ctx: ctx, send: s.sendUnlessBroken}
}

func (s *severed) sendUnlessBroken(x *spiedTxn) (*clientv3.TxnResponse, error) {
	switch {
	case s.isBroken():
		return nil, errSevered
	case x.hasWrites() && s.leave != nil:
		return nil, s.leave
	case x.hasWrites() && s.left.Add(-1) == 0:
		close(s.broken)
		return nil, errSevered
	}
	return x.Txn.Commit()
}

// severLine breaks a server's connection at its nth write, or never if n is 0.
func severLine(line *severed) func(*ledger.Config) {
	line.broken = make(chan struct{})
	return replaceKV(func(kv clientv3.KV) clientv3.KV {
		line.KV = kv
		return line
	})
}

var moves = map[string]func(t *testing.T, s *store.Server){
	"made": func(_ *testing.T, s *store.Server) {
		store.Must(s.CreateZone(store.Zone("kids", "kid", "kid.example.org.", store.Allow("", "*"))))
	},
	"deleted": func(t *testing.T, s *store.Server) { must.Succeed(t, s.DeleteZone("kids", "kid")) },
	"ended": func(_ *testing.T, s *store.Server) {
		store.Must(s.UpdateZone("platform", "top", func(z *v1alpha1.Zone) { z.Spec.Delegations = z.Spec.Delegations[:1] }))
	},
}

func prepareMove(t *testing.T, st *store.Store, s *store.Server, how string, n int) {
	t.Helper()
	stop := s.Run()
	store.Must(s.CreateZone(store.Zone("platform", "top", "example.org.", store.Allow("", "*"),
		v1alpha1.DelegationRule{Namespace: "kids", Zones: []string{"*"}})))
	if how != "made" {
		moves["made"](t, s)
	}
	for i := range n {
		name := fmt.Sprint("r", i)
		store.Must(s.CreateRecord(t.Context(), store.Record("kids", name, name+".kid.example.org.", "A", "192.0.2.1")))
	}
	st.Settle()
	stop()
}

// mustUnlock waits until a Record can be created at names that a move has locked.
func mustUnlock(t *testing.T, s *store.Server, how string, within time.Duration) {
	t.Helper()
	if how == "ended" {
		store.Eventually(t, "the zone ends", func() bool { return s.Zone("kids", "kid").Status.FQDN == "" })
	}
	began := time.Now()
	for {
		_, err := s.CreateRecord(t.Context(), store.Record("kids", "after", "after.kid.example.org.", "A", "192.0.2.2"))
		if err == nil {
			return
		}
		if time.Since(began) > within {
			t.Fatalf("after %v: %v", time.Since(began), err)
		}
	}
}

// A server moves Records between zones, with their names locked, and loses its connection to etcd at the nth
// transaction, for every n. The next server must complete the move: the lock ends, and every Record is in its zone. The
// loss of an answer is the same for the next server: etcd is as before the transaction after it.
func TestLock_endsWhereverItsMoverIsCutOff_S2_10(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	for how, begin := range moves {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			const records = 5
			for n := int64(1); ; n++ {
				if n > 200 {
					t.Fatal("a move of five records has more than 200 transactions")
				}
				st := store.New(t)
				s := st.Server()
				prepareMove(t, st, s, how, records)
				begin(t, s)
				line := &severed{}
				line.left.Store(n)
				stop := st.Server(severLine(line)).Run()
				store.Eventually(t, "the line breaks, or all is done", func() bool { return line.isBroken() || st.Quiet() })
				stop()
				whole := !line.isBroken()
				next := st.Server()
				next.Run()
				mustUnlock(t, next, how, 15*time.Second)
				st.Settle()
				zone := map[bool]string{true: "kid", false: "top"}[how == "made"]
				for _, r := range next.ListRecords("kids") {
					if r.Status.ZoneRef == nil || r.Status.ZoneRef.Name != zone {
						t.Errorf("cut off at transaction %d: %s is in %+v", n, r.Name, r.Status.ZoneRef)
					}
				}
				if st.MustBeClean(); whole || t.Failed() {
					t.Logf("%d transactions", n-1)
					return
				}
			}
		})
	}
}

func TestLock_endsPastADamagedRecord_S2_10(t *testing.T) {
	t.Parallel()
	for how, begin := range moves {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			st := store.New(t, store.Unchecked)
			s := st.Server()
			prepareMove(t, st, s, how, 20)
			key := layout.Keys{Prefix: st.Prefix}.Record("kids", "r7")
			intact := must.Get(st.Client.Client.Get(t.Context(), key))(t).Kvs[0].Value
			must.Get(st.Client.Client.Put(t.Context(), key, "damaged"))(t)
			begin(t, s)
			s.Run()
			mustUnlock(t, s, how, 15*time.Second)
			must.Get(st.Client.Client.Put(t.Context(), key, string(intact)))(t)
			st.Settle()
			for _, r := range s.ListRecords("kids") {
				if r.Status.ZoneRef == nil {
					t.Errorf("%s is in no zone: %+v", r.Name, r.Status.Conditions)
				}
			}
			st.MustBeClean()
		})
	}
}

// A zone is marked as moving Records, but the outbox item of the move is lost. fsck reports the mark, and a server
// removes the mark. Then the names are unlocked, and the zone is delivered again.
func TestLock_withoutItsWorkEnds_S2_10(t *testing.T) {
	t.Parallel()
	st := store.New(t, store.Unchecked)
	s := st.Server()
	prepareMove(t, st, s, "deleted", 1)
	moves["deleted"](t, s)
	must.Get(st.Client.Client.Delete(t.Context(), layout.Keys{Prefix: st.Prefix}.Room("outbox"), clientv3.WithPrefix()))(t)
	isMarked := func() bool { return strings.Contains(store.Text(st.Fsck()), "there is no such work") }
	if !isMarked() {
		t.Errorf("fsck: %s", store.Text(st.Fsck()))
	}
	s.Run()
	mustUnlock(t, s, "deleted", 15*time.Second)
	store.Eventually(t, "the mark is gone", func() bool { return !isMarked() })
	if z := s.Zone("platform", "top"); !meta.IsStatusConditionTrue(z.Status.Conditions, v1alpha1.ConditionSettled) {
		t.Errorf("the zone is held back: %+v", z.Status.Conditions)
	}
}

// Records of other namespaces that wait below moving names are read only after the unlock.
func TestLock_isNotProlongedByWhatWaits_S2_11(t *testing.T) {
	t.Parallel()
	n := 3_000
	var own *store.Etcd
	if rig.Long() { // gigabytes, too much for the shared etcd
		n, own = 700_000, store.Fresh(t)
	}
	for how, begin := range moves {
		t.Run(how, func(t *testing.T) {
			if own == nil {
				t.Parallel()
			}
			st := store.New(t, store.Unchecked) // waiting objects are keys only
			if own != nil {
				st = store.On(t, own, "/registry/"+how)
				store.Unchecked(st)
			}
			s := st.Server()
			prepareMove(t, st, s, how, 20)
			plantWaiting(t, st, n)
			line := &severed{}
			var atUnlock atomic.Int64
			atUnlock.Store(-1)
			mover := st.Server(severLine(line), setTryEvery(time.Hour), func(c *ledger.Config) {
				c.OnFault = func(point string) {
					if point == "cascade-unlock" {
						atUnlock.CompareAndSwap(-1, line.read.Load())
					}
				}
			})
			begin(t, mover)
			mover.Run()
			began := time.Now()
			mustUnlock(t, s, how, time.Minute)
			t.Logf("with %d waiting: unlocked after %v", n, time.Since(began).Round(time.Millisecond))
			// No client's write ends a zone, so its cascade counts as one that another server may have begun, and reads
			// waiting objects with moving ones.
			if read := atUnlock.Load(); read != 0 && how != "ended" {
				t.Errorf("%d keys of what waits were read before the names were unlocked", read)
			}
			for _, r := range s.ListRecords("kids") {
				if strings.HasPrefix(r.Name, "r") && r.Status.ZoneRef == nil {
					t.Errorf("%s is in no zone", r.Name)
				}
			}
		})
	}
}

// plantWaiting writes the keys of another namespace's n waiting records below kid.example.org.
func plantWaiting(t *testing.T, st *store.Store, n int) {
	t.Helper()
	keys, value := layout.Keys{Prefix: st.Prefix}, layout.Encode(layout.Waiter{UID: "none", Created: 1})
	var ops []clientv3.Op
	for i := range n {
		at, err := name.Parse(fmt.Sprintf("s%d.kid.example.org.", i))
		must.Succeed(t, err)
		key := keys.Waiting(&law.Waiting{FQDN: at}, "records", "stranger", fmt.Sprint("s", i))[0]
		ops = append(ops, clientv3.OpPut(key, string(value)))
		if len(ops) == 500 || i == n-1 {
			must.Get(st.Client.Client.Txn(t.Context()).Then(ops...).Commit())(t)
			ops = ops[:0]
		}
	}
}
