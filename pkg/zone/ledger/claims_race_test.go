// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// claims are pairs of names that two namespaces cannot hold together.
var claims = [][2]string{
	{"www A", "www A"}, {"_x.www TXT", "www A"}, {"_x.www TXT", "_y.www TXT"}, {"_x.www TXT", "*.www A"},
	{"_x.www TXT", "x.www A"}, {"*.www A", "y.x.www A"}, {"*.www A", "_x.y.www TXT"},
	{"x.www A", "www CAA"}, {"x.www A", "_y.www TXT"}, {"x.www A", "www CNAME"}, {"x.www A", "www NS"},
}

func makeClaim(namespace, object, zone, claim string) *v1alpha1.Record {
	var owner, kind string
	_, err := fmt.Sscan(claim, &owner, &kind)
	value := map[string]string{"A": "192.0.2.1", "TXT": "t", "CAA": `0 issue "ca.example"`, "CNAME": "x.example.net.",
		"NS": "ns.example.net."}[kind]
	return store.Record(namespace, object, owner+"."+zone+".example.", kind, store.Must(value, err))
}

func TestRace_claimsOfOneBatchSeeEachOther_S4_8(t *testing.T) {
	t.Parallel()
	st, g := store.New(t), &gate{}
	s := st.Server(func(c *ledger.Config) { c.OnFault = g.passPoint })
	rule := func(ns string) v1alpha1.DelegationRule {
		r := store.Allow(ns, "*")
		r.Records = append(r.Records, v1alpha1.RecordDelegation{Pattern: "*", Types: []string{"NS"}})
		return r
	}
	zones := 0
	makeZone := func() string {
		zones++
		name := fmt.Sprint("z", zones)
		store.Must(s.CreateZone(store.Zone("infra", name, name+".example.", rule("a"), rule("b"))))
		return name
	}
	refused := 0
	for _, pair := range claims {
		for first := range 2 {
			zone := makeZone()
			store.Must(s.CreateRecord(t.Context(), makeClaim("a", zone, zone, pair[first])))
			_, want := s.CreateRecord(t.Context(), makeClaim("b", zone, zone, pair[1-first]))
			if want != nil {
				refused++
			}
			// Both writes join the batch that waits behind a held write.
			zone = makeZone()
			g.holdAt("before-commit")
			answers := []chan error{make(chan error, 1), make(chan error, 1), make(chan error, 1)}
			for i, r := range []*v1alpha1.Record{
				makeClaim("a", zone+"-held", zone, "held TXT"),
				makeClaim("a", zone, zone, pair[first]),
				makeClaim("b", zone, zone, pair[1-first]),
			} {
				go func() {
					_, err := s.CreateRecord(t.Context(), r)
					answers[i] <- err
				}()
				if i == 0 {
					<-g.reached
				} else {
					store.Eventually(t, "a write waits at the zone", func() bool { return s.Ledger.Waiting("infra", zone) == i })
				}
			}
			g.holdAt("")
			must.Succeed(t, <-answers[0])
			one, other := <-answers[1], <-answers[2]
			if one != nil || (other == nil) != (want == nil) {
				t.Errorf("%s by a, then %s by b: in one batch %v and %v, one after the other nil and %v", pair[first],
					pair[1-first], one, other, want)
			}
		}
	}
	if refused < len(claims) {
		t.Errorf("%d of %d pairs are refused: this test does not see what it is about", refused, 2*len(claims))
	}
	if s.Ledger.Stats().Batches.Load() == 0 {
		t.Error("no batch: this test did not see what it is about")
	}
}

// A few rounds after the last write, each object that still waits must also be one that would be refused if it were
// created now.
func TestRound_admitsAllThatTheLawWould_S2_7(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	for seed := range scaleTo(40, 4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(uint64(seed), 3))
			draw := func(of ...string) string { return of[rnd.IntN(len(of))] }
			st := store.New(t)
			s := st.Server(setTryEvery(time.Hour)) // the test makes the rounds
			zone := func() *v1alpha1.Zone {
				rules := []v1alpha1.DelegationRule{store.Allow("infra", "*")}
				for _, ns := range []string{"a", "b", "c"} {
					if rnd.IntN(3) > 0 {
						rules = append(rules, store.Allow(ns, draw("*", "*", "www", "*.www")))
					}
				}
				rules = append(rules, v1alpha1.DelegationRule{Zones: []string{"*"}})
				at := draw("top", "kid")
				z := store.Zone("infra", at, map[string]string{"top": "example.", "kid": "www.example."}[at], rules...)
				z.Spec.Limits.RecordsPerNamespace = new(int32(3))
				return z
			}
			for i := range 120 {
				ns, object := draw("a", "b", "c", "infra"), fmt.Sprint("r", rnd.IntN(6))
				switch rnd.IntN(10) {
				case 0, 1:
					z := zone()
					if _, err := s.CreateZone(z); err != nil {
						_, _ = s.UpdateZone("infra", z.Name, func(is *v1alpha1.Zone) { is.Spec.Delegations = z.Spec.Delegations })
					}
				case 2:
					_ = s.DeleteZone("infra", draw("top", "kid", "kid"))
				case 3, 4:
					_ = s.DeleteRecord(t.Context(), ns, object)
				case 5:
					s.Ledger.ProcessOutbox(t.Context())
				default:
					claim := draw("www A", "x.www A", "_x.www TXT", "*.www A", "y.x.www A", "www CNAME", "x TXT")
					r := makeClaim(ns, object, "", claim)
					r.Spec.DomainName = r.Spec.DomainName[:len(r.Spec.DomainName)-len("..example.")] + ".example."
					_, _ = s.CreateRecord(t.Context(), r)
				}
				if i%30 == 29 {
					s.Ledger.ProcessOutbox(t.Context())
				}
			}
			s.Ledger.ProcessOutbox(t.Context())
			if pending := must.Get(s.Ledger.TryWaiting(t.Context()))(t); pending != 0 {
				t.Errorf("%d cascades are owed after the last round", pending)
			}
			waiting := 0
			for _, r := range s.ListRecords("") {
				if r.Status.ZoneRef != nil {
					continue
				}
				waiting++
				probe := store.Record(r.Namespace, "probe", r.Spec.DomainName, r.Spec.Type, r.Spec.Values...)
				is, err := s.CreateRecord(t.Context(), probe)
				switch {
				case err == nil && is.Status.ZoneRef != nil:
					t.Errorf("%s/%s waits (%s), and the law admits another one like it", r.Namespace, r.Name,
						r.Status.Conditions[0].Message)
					fallthrough
				case err == nil:
					must.Succeed(t, s.DeleteRecord(t.Context(), r.Namespace, "probe"))
				case apierrors.IsTooManyRequests(err):
					t.Errorf("%s: %v", r.Name, err)
				}
			}
			t.Logf("%d records wait", waiting)
		})
	}
}
