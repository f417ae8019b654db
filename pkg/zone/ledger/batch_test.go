// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/test/store"
)

type gate struct {
	mu      sync.Mutex
	point   string
	reached chan struct{}
	open    chan struct{}
}

func (g *gate) passPoint(point string) {
	g.mu.Lock()
	reached, open := g.reached, g.open
	held := point == g.point
	g.mu.Unlock()
	if held {
		reached <- struct{}{}
		<-open
	}
}

func (g *gate) holdAt(point string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open != nil {
		close(g.open)
	}
	g.point, g.reached, g.open = point, make(chan struct{}, 100), make(chan struct{})
}

type callerKey struct{}

// A batch commits the writes of several callers in one transaction. The transaction must have the context of none of
// them, because logs, traces and charges would otherwise go to the first caller.
func TestBatch_hasNoCallersContext(t *testing.T) {
	t.Parallel()
	g := &gate{}
	var mu sync.Mutex
	var seen []any // the callers of transactions, by callerKey
	s := store.New(t).Server(func(c *ledger.Config) { c.OnFault = g.passPoint }, spyOn(func(x *spiedTxn) (*clientv3.TxnResponse, error) {
		mu.Lock()
		seen = append(seen, x.ctx.Value(callerKey{}))
		mu.Unlock()
		return x.Txn.Commit()
	}))
	store.Must(s.CreateZone(store.Zone("infra", "z", "example.org.", store.Allow("", "*"))))
	g.holdAt("before-commit")
	outcomes := make(chan error, 3)
	for i, name := range []string{"first", "second", "third"} {
		go func() {
			ctx := context.WithValue(t.Context(), callerKey{}, name)
			_, err := s.CreateRecord(ctx, store.Record("team", name, name+".example.org.", "A", "192.0.2.1"))
			outcomes <- err
		}()
		if i == 0 {
			<-g.reached
			continue
		}
		store.Eventually(t, "the write waits", func() bool { return s.Ledger.Waiting("infra", "z") == i })
	}
	g.holdAt("")
	for range cap(outcomes) {
		if err := <-outcomes; err != nil {
			t.Error(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if n := len(seen); seen[n-1] != nil || seen[n-2] != "first" {
		t.Errorf("transactions of %q; want the last without a caller, after that of the first write", seen)
	}
}

// If etcd accepts fewer operations in a transaction than configured, the server makes smaller batches, and clients see
// no error.
func TestBatch_isAsLargeAsEtcdTakes(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	for what, x := range map[string]struct {
		change  func(*embed.Config)
		batches int64 // per round; 0: as few as possible
	}{
		"as embedded":          {func(*embed.Config) {}, 1},
		"as etcd's default is": {func(c *embed.Config) { c.MaxTxnOps = embed.DefaultMaxTxnOps }, 2},
		"fewer":                {func(c *embed.Config) { c.MaxTxnOps = 32 }, 0},
	} {
		t.Run(what, func(t *testing.T) {
			s := store.On(t, store.Fresh(t, x.change), "/registry/kubizone")
			g := &gate{}
			server := s.Server(func(c *ledger.Config) { c.OnFault = g.passPoint })
			store.Must(server.CreateZone(store.Zone("infra", "z", "z.example.org.", store.Allow("", "*"))))
			server.Run()
			s.Settle()
			const n = 40
			outcomes := make(chan error, n)
			for round := range 2 {
				g.holdAt("before-commit")
				for i := range n {
					go func() {
						name := fmt.Sprintf("r%d-%d", round, i)
						_, err := server.CreateRecord(context.Background(), store.Record("team", name, name+".z.example.org.", "A", "192.0.2.1"))
						outcomes <- err
					}()
					if i == 0 { // the others wait behind it
						<-g.reached
						continue
					}
					store.Eventually(t, "a write waits at the zone", func() bool { return server.Ledger.Waiting("infra", "z") == i })
				}
				g.holdAt("")
				for range n {
					if err := <-outcomes; err != nil {
						t.Error(err)
					}
				}
				if have, want := server.Ledger.Stats().Batches.Load(), x.batches*int64(round+1); have != want && want > 0 {
					t.Errorf("%d batches after %d times %d writes, want %d", have, round+1, n, want)
				}
			}
			s.Settle()
		})
	}
}

func createAt(s *store.Server, i int) error {
	name := fmt.Sprintf("r%d", i)
	_, err := s.CreateRecord(context.Background(), store.Record("team", name, name+".example.org.", "A", "192.0.2.1"))
	return err
}

// A write that waits for its zone's lock may be answered without it, because another write of the same record came
// first. The lock must then pass to the next write, so that none waits forever.
func TestBatch_givesTheLockOnWhereItIsAnswered(t *testing.T) {
	t.Parallel()
	st, g := store.New(t), &gate{}
	s := st.Server(func(c *ledger.Config) { c.OnFault = g.passPoint })
	store.Must(s.CreateZone(store.Zone("infra", "z", "z.example.org.", store.Allow("", "*"))))
	store.Must(s.CreateRecord(t.Context(), store.Record("team", "r", "r.z.example.org.", "A", "192.0.2.1")))
	s.Run()
	st.Settle()
	outcomes := make(chan error, 2)
	update := func(change func(*v1alpha1.Record)) {
		go func() {
			_, err := s.UpdateRecord(context.Background(), "team", "r", change)
			outcomes <- err
		}()
	}
	g.holdAt("before-commit")
	update(func(r *v1alpha1.Record) { r.Spec.DomainName = "other.z.example.org." })
	<-g.reached
	update(func(r *v1alpha1.Record) { r.Spec.Values = []string{"192.0.2.2"} })
	store.Eventually(t, "a write waits at the zone", func() bool { return s.Ledger.Waiting("infra", "z") == 1 })
	g.holdAt("")
	for range 2 {
		if err := <-outcomes; err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	if _, err := s.CreateRecord(ctx, store.Record("team", "next", "next.z.example.org.", "A", "192.0.2.1")); err != nil {
		t.Errorf("the next write of the zone: %v", err)
	}
	st.Settle()
}
