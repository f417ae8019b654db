// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/store"
)

// Clients delete and change Records while cascades decide the same Records. If an object has changed meanwhile, a
// cascade continues with the next Record, and no client waits longer than for a single step.
func TestCascade_objectsThatMoveUnderItHoldUpNoWriter(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	defer s.Run()()
	zones := v1alpha1.DelegationRule{Zones: []string{"*"}}
	store.Must(s.CreateZone(store.Zone("infra", "org", "example.org.", store.Allow("", "*"), zones)))
	rnd := rand.New(rand.NewPCG(1, 2))
	any := func() string { return fmt.Sprintf("n%d-%d.example.org.", rnd.IntN(6), rnd.IntN(40)) }
	delegate := func(pattern string) error {
		_, err := s.UpdateZone("infra", "org", func(z *v1alpha1.Zone) {
			z.Spec.Delegations = []v1alpha1.DelegationRule{store.Allow("", pattern), zones}
		})
		return err
	}
	for i := range scaleTo(600, 200) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		var err error
		switch n := rnd.IntN(100); {
		case n < 50:
			_, err = s.CreateRecord(ctx, store.Record("infra", fmt.Sprintf("r%d", i), any(), "TXT", fmt.Sprintf("v%d", i)))
		case n < 80:
			if all := s.ListRecords("infra"); len(all) > 0 {
				err = s.DeleteRecord(ctx, "infra", all[rnd.IntN(len(all))].Name)
			}
		case n < 92:
			if err = delegate(fmt.Sprintf("n%d*", rnd.IntN(6))); err == nil {
				err = delegate("*")
			}
		default:
			_, err = s.CreateZone(store.Zone("infra", fmt.Sprintf("c%d", i), any(), store.Allow("", "*")))
		}
		cancel()
		if apierrors.IsServerTimeout(err) || ctx.Err() == context.DeadlineExceeded {
			t.Fatalf("write %d: %v", i, err)
		}
	}
	st.Settle()
}
