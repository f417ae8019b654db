// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

type stored struct {
	n int
	// If damaged, proofs fail. If unreadable, reads fail.
	damaged, unreadable bool
	// proof is the proof from the last listing, or nil after its run.
	proof *Proof
}

// The Set equals the store after any order of events, except for frozen zones and pending proofs. The feed is in sync
// only if each zone is in the Set or frozen.
func TestFeed_hasWhatTheStoreHas(t *testing.T) {
	rapid.Check(t, func(draw *rapid.T) {
		f := newFed(t)
		store := map[string]*stored{}
		old := []*Proof{} // from earlier listings
		var listed, stayed bool
		uids := []string{"a1", "b1", "c1"} // a recreated zone gets another uid
		all := slices.Clone(uids)
		report := func(err error, uid string) {
			if err != nil && f.FrozenReason(uid) == nil { // as in a source: restart the listing
				f.Fail(err)
				listed = false
			}
		}
		list := func() {
			f.BeginListing(rapid.Bool().Draw(draw, "stay"))
			stayed = f.isSynced()
			unreadable := map[string]error{}
			for uid, z := range store {
				if z.proof != nil {
					old = append(old, z.proof)
				}
				z.proof = nil
				switch {
				case z.unreadable:
					unreadable["ns/"+uid] = errors.New("not protobuf")
				case z.damaged:
					z.proof = f.BeginProof(uid, f.makeWrongBase(uid, z.n))
				default:
					z.proof = f.BeginProof(uid, f.makeBase(uid, z.n))
				}
			}
			f.EndListing(t.Context(), unreadable)
			listed = true
		}
		run := func(uid string) {
			if z := store[uid]; z != nil && z.proof != nil {
				proof := z.proof
				z.proof = nil
				report(proof.Run(t.Context()), uid)
			}
		}
		change := func(i int) {
			uid := uids[i]
			switch z := store[uid]; {
			case z == nil:
				store[uid] = &stored{}
				if listed {
					report(f.Feed.Apply(t.Context(), uid, content.Transaction{Steps: f.steps[:1], Settled: true}, zoneview.Zone{UID: uid, Namespace: "ns", Name: uid}), uid)
				}
			case rapid.IntRange(0, 9).Draw(draw, "what") == 0:
				delete(store, uid)
				uids[i] = fmt.Sprint(uid[:1], len(all))
				all = append(all, uids[i])
				if listed {
					report(f.Feed.Apply(t.Context(), uid, content.Transaction{Gone: true}, zoneview.Zone{}), uid)
				}
			case z.n < 8:
				z.n++
				if listed {
					report(f.applyStep(uid, z.n), uid)
				}
			}
		}
		check := func() {
			pending, frozen := 0, 0
			for _, z := range f.zones {
				if z.pendingReason != nil {
					pending++
				}
				if z.frozenReason != nil {
					frozen++
				}
			}
			if pending != f.pendingCount || frozen != f.frozenCount {
				draw.Fatalf("%d zones are pending and %d counted, %d frozen and %d counted", pending, f.pendingCount, frozen, f.frozenCount)
			}
			for _, uid := range all {
				z := store[uid]
				isFrozen := f.FrozenReason(uid) != nil || f.FrozenReason("ns/"+uid) != nil
				switch at := f.readSerial(uid); {
				case z == nil && listed && (at >= 0 || f.zones[uid] != nil):
					draw.Fatalf("zone %s is gone and stays at %d: %+v", uid, at, f.zones[uid])
				case z == nil:
				case at > z.n:
					draw.Fatalf("zone %s is at %d, the store at %d", uid, at, z.n)
				case f.isSynced() && at < 0 && !isFrozen && !(stayed && z.proof != nil): // frozen before
					draw.Fatalf("in sync without zone %s", uid)
				case listed && z.proof == nil && !isFrozen && at != z.n:
					draw.Fatalf("zone %s is at %d, the store at %d", uid, at, z.n)
				}
			}
		}
		for range rapid.IntRange(1, 150).Draw(draw, "count") {
			i := rapid.IntRange(0, len(uids)-1).Draw(draw, "zone")
			uid := uids[i]
			switch rapid.IntRange(0, 9).Draw(draw, "do") {
			case 0:
				list()
			case 1, 2, 3:
				run(uid)
			case 4:
				if len(old) > 0 {
					proof := old[0]
					old = old[1:]
					report(proof.Run(t.Context()), proof.key)
				}
			case 5:
				if z := store[uid]; z != nil {
					z.damaged = !z.damaged && rapid.Bool().Draw(draw, "damaged")
					z.unreadable = !z.unreadable && rapid.Bool().Draw(draw, "unreadable")
				}
			case 6:
				if listed && store[uid] != nil && rapid.Bool().Draw(draw, "misfit") { // a misfit
					report(f.applyStep(uid, 8), uid)
					if store[uid].n == 7 {
						store[uid].n = 8
					}
				}
			default:
				change(i)
			}
			check()
		}
		for _, z := range store {
			z.damaged, z.unreadable = false, false
		}
		for range 4 {
			list()
			for _, uid := range slices.Sorted(maps.Keys(store)) {
				run(uid)
			}
		}
		check()
		if err := f.Check(); err != nil || len(f.FrozenZones()) > 0 || len(f.zones) != len(store) {
			draw.Fatalf("after all is mended: %v, frozen %v, %d zones of %d", err, f.FrozenZones(), len(f.zones), len(store))
		}
	})
}
