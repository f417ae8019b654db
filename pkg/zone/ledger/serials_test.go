// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// removeZone creates and deletes a zone with the given expire in seconds, and returns its last serial.
func removeZone(t *testing.T, s *store.Server, object, domain string, expire int32) serial.Serial {
	t.Helper()
	z := store.Zone("infra", object, domain)
	z.Spec.Expire = ptr.To(expire)
	last := store.Must(s.CreateZone(z)).Status.Serial
	must.Succeed(t, s.DeleteZone("infra", object))
	return serial.Serial(last)
}

func hasSerial(t *testing.T, st *store.Store, domain string) bool {
	t.Helper()
	key := layout.Keys{Prefix: st.Prefix}.Key(law.Key{Kind: law.KindLastSerial, Name: name.MustParse(domain)})
	return len(store.Must(st.Client.Client.Get(t.Context(), key)).Kvs) > 0
}

// The last serial of a deleted zone is kept for its expire time, so that a new zone of the name begins above. A clock
// that is a year ahead does not shorten this time, because servers count the time they run. A new zone begins ahead
// even of a serial that such a clock has produced.
func TestSerial_isRememberedForExpireWhateverTheClock_S6_10(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	var off atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(off.Load())) }
	s := st.Server(func(c *ledger.Config) { c.Now = now }, ledger.SerialsEvery(20*time.Millisecond))
	s.Run()
	const jump, expire = 9600 * time.Hour, 5

	off.Store(int64(jump))
	high := removeZone(t, s, "long", "long.test.", int32(v1alpha1.DefaultExpire))
	off.Store(0)
	began := time.Now()
	removeZone(t, s, "short", "short.test.", expire)
	off.Store(int64(2 * jump))
	for hasSerial(t, st, "short.test.") { // so sweeps ran, with the clock ahead of both
		if time.Since(began) > time.Minute {
			t.Fatal("it is remembered for ever")
		}
		time.Sleep(20 * time.Millisecond)
	}
	if kept := time.Since(began); kept < expire*time.Second {
		t.Errorf("forgotten after %s, want %d s at least", kept, expire)
	}
	off.Store(0)
	if again := store.Must(s.CreateZone(store.Zone("infra", "again", "long.test."))).Status.Serial; !serial.Serial(again).Ahead(high) {
		t.Errorf("a zone made again begins with serial %d, its secondaries have %d", again, high)
	}
	st.Settle()
}

// Servers count down the time for which a deleted zone's serial is kept, and store the count from time to time. The
// total is never less than the zone's expire, and takes a bounded number of writes.
func TestSerial_whatIsKeptAddsUp_S6_10(t *testing.T) {
	t.Parallel()
	last := &law.LastSerial{Serial: 7, Left: int64(v1alpha1.DefaultExpire), From: []law.Origin{{Zone: "uid"}}}
	if _, due := ledger.Keep(*last, ledger.KeepsFor-time.Second); due {
		t.Error("it is written before it is time")
	}
	counted, writes := time.Duration(0), 0
	for last != nil {
		step := ledger.KeepsFor + 1500*time.Millisecond
		next, due := ledger.Keep(*last, step)
		if !due {
			t.Fatal("it is not written")
		}
		counted += step
		if writes++; next != nil && (next.Serial != 7 || len(next.From) != 1 || next.Left >= last.Left) {
			t.Fatalf("%+v became %+v", last, next)
		}
		last = next
	}
	if want := time.Duration(v1alpha1.DefaultExpire) * time.Second; counted < want || writes > 167 {
		t.Errorf("gone after %s and %d writes, want %s at least", counted, writes, want)
	}
}

// The number of last serials kept for a namespace's deleted zones is bounded. Beyond the bound, those with the least
// remaining time are deleted, and none of other namespaces. Each is kept for sixty days at most.
func TestSerial_oneNamespaceLeavesNoMoreThanItsShare_S6_10(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server(ledger.SerialsEvery(20*time.Millisecond), ledger.MaxLeftBy(3))
	other := store.Zone("other", "old", "old.test.")
	other.Spec.Expire = ptr.To[int32](math.MaxInt32)
	store.Must(s.CreateZone(other))
	must.Succeed(t, s.DeleteZone("other", "old"))
	key := layout.Keys{Prefix: st.Prefix}.Key(law.Key{Kind: law.KindLastSerial, Name: name.MustParse("old.test.")})
	var last law.LastSerial
	if err := layout.Decode(store.Must(st.Client.Client.Get(t.Context(), key)).Kvs[0].Value, &last); err != nil || last.Left != serial.KeptSeconds {
		t.Errorf("%+v, %v", last, err)
	}
	for i := range 5 {
		removeZone(t, s, fmt.Sprint("z", i), fmt.Sprintf("z%d.test.", i), int32(200000+i))
	}
	s.Run()
	store.Eventually(t, "a sweep", func() bool { return !hasSerial(t, st, "z0.test.") && !hasSerial(t, st, "z1.test.") })
	for _, n := range []string{"z2.test.", "z3.test.", "z4.test.", "old.test."} {
		if !hasSerial(t, st, n) {
			t.Errorf("%s is forgotten", n)
		}
	}
}
