// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/test/store"
)

// timed is a context that ends at endTime.
type timed struct {
	context.Context
	ended chan struct{}
}

func (c timed) endTime()              { close(c.ended) }
func (c timed) Done() <-chan struct{} { return c.ended }

func (c timed) Err() error {
	select {
	case <-c.ended:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// A timeout before the request to etcd means "nothing written", a timeout afterwards "unknown".
func TestOutcome_hasAReason(t *testing.T) {
	t.Parallel()
	st, g := store.New(t), &gate{}
	s := st.Server(stopClock, func(c *ledger.Config) { c.OnFault = g.passPoint })
	store.Must(s.CreateZone(store.Zone("infra", "z", "example.org.", store.Allow("", "*"))))
	alone := func(ctx context.Context) (err error, unwritten bool) {
		_, err = s.CreateRecord(ctx, store.Record("team", "r", "r.example.org.", "A", "192.0.2.1"))
		return err, false
	}
	inASet := func(ctx context.Context) (error, bool) {
		set, errs := inSet(ctx, s, createLater(store.Record("team", "a", "a.example.org.", "A", "192.0.2.1")),
			createLater(store.Record("team", "b", "b.example.org.", "A", "192.0.2.1")))
		if set.Err() != nil {
			return set.Err(), set.NothingWritten()
		}
		return errs[0], set.NothingWritten()
	}
	aSetOfOne := func(ctx context.Context) (error, bool) {
		set, errs := inSet(ctx, s, createLater(store.Record("team", "one", "one.example.org.", "A", "192.0.2.1")))
		return errs[0], set.NothingWritten()
	}
	for i, test := range []struct {
		what  string
		write func(context.Context) (error, bool)
		sent  bool
	}{
		{"a write that waits", alone, false},
		{"a write that is sent", alone, true},
		{"a change set that waits", inASet, false},
		{"a change set that is sent", inASet, true},
		{"a change set of one that waits", aSetOfOne, false},
		{"a change set of one that is sent", aSetOfOne, true},
	} {
		t.Run(test.what, func(t *testing.T) {
			ctx := timed{t.Context(), make(chan struct{})}
			g.holdAt("before-commit")
			reached, first := g.reached, make(chan error, 1)
			if !test.sent { // another write has the zone
				go func() {
					_, err := s.CreateRecord(context.Background(), store.Record("team", fmt.Sprintf("first%d", i), "first.example.org.", "A", "192.0.2.1"))
					first <- err
				}()
				<-reached
				time.AfterFunc(300*time.Millisecond, ctx.endTime)
			} else {
				first <- nil
				go func() {
					<-reached
					ctx.endTime()
					g.holdAt("")
				}()
			}
			err, unwritten := test.write(ctx)
			switch {
			case test.sent && (!apierrors.IsTimeout(err) || !strings.Contains(err.Error(), "whether it was written is not known") || unwritten):
				t.Errorf("%v, unwritten %t: want reason Timeout, and that the outcome is not known", err, unwritten)
			case !test.sent && apierrors.ReasonForError(err) == v1alpha1.StatusReasonChangeSetEnded && unwritten: // before all writes had come
			case !test.sent && (!apierrors.IsServerTimeout(err) || !strings.Contains(err.Error(), "nothing was written")):
				t.Errorf("%v: want reason ServerTimeout, and that nothing was written", err)
			}
			g.holdAt("")
			if err := <-first; err != nil {
				t.Error(err)
			}
		})
	}
	if n := len(s.ListRecords("team")); n != 3 {
		t.Errorf("%d records stand, want the 3 that had the zone", n)
	}
}

func TestOutcome_ofASetIsKnown(t *testing.T) {
	t.Parallel()
	s := exampleOrg(t, store.New(t))
	set, errs := inSet(t.Context(), s, createLater(store.Record("team", "a", "a.example.org.", "A", "192.0.2.1")))
	if errs[0] != nil || set.NothingWritten() {
		t.Errorf("a set that is written: %v, unwritten %t", errs[0], set.NothingWritten())
	}
	set, errs = inSet(t.Context(), s, createLater(store.Record("team", "b", "b.example.org.", "A", "192.0.2.1")),
		createLater(store.Record("team", "c", "c.example.net.", "A", "192.0.2.1")))
	if errs[1] == nil || !set.NothingWritten() {
		t.Errorf("a set that is refused: %v, unwritten %t", errs[1], set.NothingWritten())
	}
}
