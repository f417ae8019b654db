// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/test/store"
)

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

type timedWrite func(context.Context) (err error, unwritten bool)

func createTimed(s *store.Server, name string) timedWrite {
	return func(ctx context.Context) (error, bool) {
		_, err := s.CreateRecord(ctx, store.Record("team", name, name+".example.org.", "A", "192.0.2.1"))
		return err, false
	}
}

func createTimedSet(s *store.Server, names ...string) timedWrite {
	return func(ctx context.Context) (error, bool) {
		var writes []setWrite
		for _, name := range names {
			writes = append(writes, createLater(store.Record("team", name, name+".example.org.", "A", "192.0.2.1")))
		}
		set, errs := inSet(ctx, s, writes...)
		if set.Err() != nil {
			return set.Err(), set.NothingWritten()
		}
		return errs[0], set.NothingWritten()
	}
}

func wantUnwritten(t *testing.T, err error) {
	t.Helper()
	if !apierrors.IsServerTimeout(err) || !strings.Contains(err.Error(), "nothing was written") {
		t.Fatalf("%v: want reason ServerTimeout, and that nothing was written", err)
	}
}

// A write whose request ends before etcd is asked reports that nothing was written.
func TestOutcome_ofAnUnsentWriteIsKnown(t *testing.T) {
	t.Parallel()
	st, g := store.New(t), &gate{}
	s := st.Server(stopClock, func(c *ledger.Config) { c.OnFault = g.passPoint })
	store.Must(s.CreateZone(store.Zone("infra", "z", "example.org.", store.Allow("", "*"))))
	for kind, write := range map[string]timedWrite{
		"write": createTimed(s, "r"), "set": createTimedSet(s, "a", "b"), "set-of-one": createTimedSet(s, "one"),
	} {
		t.Run(kind+" that waits", func(t *testing.T) {
			g.holdAt("before-commit")
			first, answer := make(chan error, 1), make(chan error, 1)
			go func() {
				err, _ := createTimed(s, "first-"+kind)(t.Context())
				first <- err
			}()
			<-g.reached
			ctx := timed{t.Context(), make(chan struct{})}
			go func() {
				err, _ := write(ctx)
				answer <- err
			}()
			store.Eventually(t, "the write waits", func() bool { return s.Ledger.Waiting("infra", "z") == 1 })
			ctx.endTime()
			err := <-answer
			if wantUnwritten(t, err); strings.Contains(err.Error(), "kept changing") {
				t.Error(err)
			}
			g.holdAt("")
			if err := <-first; err != nil {
				t.Error(err)
			}
		})
		t.Run(kind+" that is decided", func(t *testing.T) {
			ctx := timed{t.Context(), make(chan struct{})}
			g.holdAt("before-commit")
			reached := g.reached
			go func() {
				<-reached
				ctx.endTime()
				g.holdAt("")
			}()
			err, _ := write(ctx)
			wantUnwritten(t, err)
		})
	}
	if n := len(s.ListRecords("team")); n != 3 {
		t.Errorf("%d records stand, want the 3 that had the zone", n)
	}
}

// If a write times out after writes of other servers made its transaction fail, its error names this cause, because a
// slow etcd or a long queue would need another remedy.
func TestOutcome_namesALostRace(t *testing.T) {
	t.Parallel()
	st, g := store.New(t), &gate{}
	s, other := st.Server(func(c *ledger.Config) { c.OnFault = g.passPoint }), st.Server()
	store.Must(s.CreateZone(store.Zone("infra", "z", "example.org.", store.Allow("", "*"))))
	for kind, write := range map[string]timedWrite{"write": createTimed(s, "r"), "set": createTimedSet(s, "a", "b")} {
		ctx, answer := timed{t.Context(), make(chan struct{})}, make(chan error, 1)
		g.holdAt("before-commit")
		go func() {
			err, _ := write(ctx)
			answer <- err
		}()
		<-g.reached
		store.Must(other.CreateRecord(t.Context(), store.Record("team", kind, kind+".example.org.", "A", "192.0.2.1")))
		g.holdAt("before-commit")
		<-g.reached // decided again
		ctx.endTime()
		g.holdAt("")
		err := <-answer
		if wantUnwritten(t, err); !strings.Contains(err.Error(), "other writes kept changing") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// If etcd does not answer a transaction, for any reason, the write may have happened. The client gets a Timeout that
// says so, and a change set must not claim that nothing was written.
func TestOutcome_ofAnUnansweredWriteIsUnknown(t *testing.T) {
	t.Parallel()
	st, line := store.New(t), &severed{}
	s := st.Server(severLine(line))
	store.Must(s.CreateZone(store.Zone("infra", "z", "example.org.", store.Allow("", "*"))))
	store.Must(s.CreateRecord(t.Context(), store.Record("team", "stored", "stored.example.org.", "A", "192.0.2.1")))
	for kind, write := range map[string]timedWrite{
		"write": createTimed(s, "r"), "set": createTimedSet(s, "a", "b"), "set of one": createTimedSet(s, "one"),
		"write of labels": func(ctx context.Context) (error, bool) {
			_, err := s.UpdateRecord(ctx, "team", "stored", func(r *v1alpha1.Record) { r.Labels = map[string]string{"new": "yes"} })
			return err, false
		},
	} {
		for what, failure := range map[string]error{
			"the deadline": context.DeadlineExceeded, "the end of the request": context.Canceled,
			"etcd's timeout": rpctypes.ErrTimeout, "a change of the leader": rpctypes.ErrLeaderChanged,
			"a lost connection": status.Error(codes.Unavailable, "the connection is closing"),
		} {
			line.leave = failure
			err, unwritten := write(t.Context())
			line.leave = nil
			if !apierrors.IsTimeout(err) || !strings.Contains(err.Error(), "whether it was written is not known") || unwritten {
				t.Errorf("%s, ended by %s: %v, unwritten %t: want reason Timeout, and that it is not known", kind, what, err, unwritten)
			}
		}
	}
}

// A client gives up while its write is in a batch but not yet decided. The write is not committed, and its error says
// so. The other writes of the batch are unaffected.
func TestOutcome_ofAnUndecidedWriteIsKnown(t *testing.T) {
	t.Parallel()
	st, g := store.New(t), &gate{}
	s := st.Server(func(c *ledger.Config) { c.OnFault, c.Records.Codec = g.passPoint, gatedCodec{c.Records.Codec, g} })
	store.Must(s.CreateZone(store.Zone("infra", "z", "example.org.", store.Allow("", "*"))))
	g.holdAt("before-commit")
	ctx, answers := timed{t.Context(), make(chan struct{})}, map[string]chan error{}
	for i, name := range []string{"first", "decided", "waits"} {
		of, within := make(chan error, 1), t.Context()
		if answers[name] = of; name == "waits" {
			within = ctx
		}
		go func() {
			err, _ := createTimed(s, name)(within)
			of <- err
		}()
		if i == 0 {
			<-g.reached
			continue
		}
		store.Eventually(t, "the write waits", func() bool { return s.Ledger.Waiting("infra", "z") == i })
	}
	g.holdAt("decided")
	<-g.reached // in the same batch as the third
	ctx.endTime()
	wantUnwritten(t, <-answers["waits"])
	g.holdAt("")
	for _, name := range []string{"first", "decided"} {
		if err := <-answers[name]; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(s.ListRecords("team")); n != 2 {
		t.Errorf("%d records stand, want 2", n)
	}
}

// gatedCodec reaches the gate's point named after a Record when it encodes the Record.
type gatedCodec struct {
	runtime.Codec
	gate *gate
}

func (c gatedCodec) Encode(o runtime.Object, w io.Writer) error {
	if m, ok := o.(metav1.Object); ok {
		c.gate.passPoint(m.GetName())
	}
	return c.Codec.Encode(o, w)
}
