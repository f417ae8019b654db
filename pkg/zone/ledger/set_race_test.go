// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/store"
)

func refusedOrMet(err error) bool {
	return storage.IsNotFound(err) || storage.IsExist(err) || storage.IsConflict(err) || storage.IsInvalidObj(err) || apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) ||
		apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsTooManyRequests(err) || apierrors.ReasonForError(err) == v1alpha1.StatusReasonChangeSetEnded
}

// Three namespaces write change sets and single Records at few names on two servers, while Delegations, a child zone
// and the zone itself are created, changed and deleted. Each set must get a single answer, and fsck must find no fault
// (S10.2).
func TestRace_setsBesideDelegationsAndZones_S10_1(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	servers := []*store.Server{st.Server(), st.Server()}
	for _, s := range servers {
		s.Run()
	}
	ctx := withDeadline(t)
	own := store.Allow("infra", "*", "@")
	own.Records = append(own.Records, v1alpha1.RecordDelegation{Pattern: "*", Types: []string{"NS", "DNAME"}})
	own.Zones = []string{"*"}
	zone := func() *v1alpha1.Zone {
		return store.Zone("infra", "example", "example.org.", own, store.Allow("other", "*.b", "b", "a"))
	}
	store.Must(servers[0].CreateZone(zone()))
	var whole atomic.Int64
	judge := func(what string, err error) {
		if err != nil && !refusedOrMet(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	rounds := scaleTo(400, 40)
	runParallel(7, func(w int) {
		s, rnd := servers[w%2], rand.New(rand.NewPCG(uint64(w), 16))
		pick := func(xs ...string) string { return xs[rnd.IntN(len(xs))] }
		for range rounds {
			if w == 6 {
				name := fmt.Sprint("d", rnd.IntN(3))
				var err error
				switch rnd.IntN(12) {
				case 0, 1, 2, 3:
					d := store.Delegation("infra", name, "example", []string{pick("team", "other")}, pick("*", "a", "*.b", "b", "_x.*", "*.sub"), "c")
					d.Spec.Zones = [][]string{nil, {"sub", "b"}}[rnd.IntN(2)]
					_, err = s.CreateDelegation(d)
				case 4, 5:
					_, err = s.UpdateDelegation("infra", name, func(d *v1alpha1.Delegation) {
						d.Spec.Records[0].Pattern, d.Spec.Namespaces = pick("*", "a", "*.b", "b", "_x.*", "*.sub"), []string{pick("team", "other")}
					})
				case 6, 7:
					err = s.DeleteDelegation("infra", name)
				case 8:
					_, err = s.CreateZone(store.Zone("team", "child", pick("sub", "b")+".example.org.", store.Allow("", "*", "@")))
				case 9:
					err = s.DeleteZone("team", "child")
				case 10:
					judge("removing the zone", s.DeleteZone("infra", "example"))
					_, err = s.CreateZone(zone())
				case 11:
					_, err = s.WriteZone(ctx, "infra", "example", func(z *v1alpha1.Zone) { z.Spec.DomainName = pick("example.org.", "example.net.") })
				}
				judge("the owner", err)
				continue
			}
			ns := []string{"infra", "team", "other"}[w/2]
			var writes []setWrite
			for _, i := range rnd.Perm(12)[:1+rnd.IntN(4)] {
				name, kind := fmt.Sprint("r", i), pick("A", "A", "A", "TXT", "TXT", "CNAME", "NS", "CAA")
				value := map[string]string{"A": fmt.Sprint("192.0.2.", 1+rnd.IntN(3)), "TXT": "x", "CNAME": "target.test.", "NS": "ns.sub.example.org.", "CAA": `0 issue "ca.test"`}[kind]
				r := store.Record(ns, name, pick("a", "b", "a.b", "_x.a", "_x.b", "*.b", "sub", "ns.sub", "x.sub", "c")+".example.org.", kind, value)
				switch exists := s.Records.Get(ctx, store.Key("records", ns, name), storage.GetOptions{}, &v1alpha1.Record{}) == nil; {
				case !exists:
					writes = append(writes, createLater(r))
				case rnd.IntN(3) > 0:
					writes = append(writes, changeLater(ns, name, func(o *v1alpha1.Record) { o.Spec = r.Spec }))
				default:
					writes = append(writes, deleteLater(ns, name))
				}
			}
			if rnd.IntN(3) == 0 {
				judge("alone", writes[0](ctx, s))
				continue
			}
			_, errs := inSet(ctx, s, writes...)
			refused := errors.Join(errs...) != nil
			if !refused {
				whole.Add(1)
			}
			for i, err := range errs {
				judge(fmt.Sprintf("item %d of %d of %s", i, len(errs), ns), err)
				if refused && err == nil {
					t.Errorf("a part is written: %s", joinErrors(errs))
				}
			}
		}
	})
	st.Settle()
	if whole.Load() == 0 {
		t.Error("no set was written")
	}
	t.Logf("%d sets were written", whole.Load())
}
