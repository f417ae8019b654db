// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/embed"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// makeFatValues returns the values of about the longest RRset allowed (S5.8). They differ for each version, and consist
// of an octet that text encodings lengthen.
func makeFatValues(octet string, version int) []string {
	var values []string
	for i := range 14 {
		values = append(values, `"`+strings.TrimSuffix(strings.Repeat(strings.Repeat(octet, 250)+`" "`, 16), `" "`)+fmt.Sprintf("%02d%02d", version%100, i)+`"`)
	}
	return values
}

func setAge(r *v1alpha1.Record, age int) *v1alpha1.Record {
	r.CreationTimestamp = metav1.NewTime(time.Date(2024, 1, 1, 0, 0, age, 0, time.UTC))
	return r
}

// A cascade also releases the younger records behind the large ones.
func TestCascade_getsPastLargeRecords_S2_5(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	for what, octet := range map[string]string{"html": "<", "backslashes": `\\`, "octets": `\200`} {
		t.Run(what, func(t *testing.T) {
			st := store.New(t)
			s := st.Server()
			stop := s.Run()
			store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("team-b", "*"))))
			st.Settle()
			stop()
			const each = 7
			for i := range each {
				name := fmt.Sprintf("t%d", i)
				store.Must(s.CreateRecord(t.Context(), setAge(store.Record("team-b", name, name+".example.org.", "TXT",
					makeFatValues(octet, i)...), i)))
			}
			store.Must(s.UpdateRecord(t.Context(), "team-b", "t0", func(r *v1alpha1.Record) { r.Spec.Values = makeFatValues(octet, 90) }))
			for i := range each {
				name := fmt.Sprintf("u%d", i)
				store.Must(s.CreateRecord(t.Context(), setAge(store.Record("team-b", name, name+".example.org.", "A", "192.0.2.1"), 100+i)))
			}
			store.Must(s.UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.Delegations = nil }))
			s.Run()
			left := func() (left []string) {
				for _, r := range s.ListRecords("team-b") {
					if r.Status.ZoneRef != nil {
						left = append(left, r.Name)
					}
				}
				return left
			}
			for end := time.Now().Add(time.Minute); len(left()) > 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			}
			if left := left(); len(left) > 0 {
				st.Damaged = true
				t.Fatalf("the rule is withdrawn, and %v are left in the zone", left)
			}
			st.Settle()
		})
	}
}

// writeTogether makes the writes of a zone join one batch behind a held write.
func writeTogether(t *testing.T, s *store.Server, g *gate, writes map[string]func() error) map[string]error {
	t.Helper()
	return writeTogetherIn(t, s, g, "example", writes)
}

func writeTogetherIn(t *testing.T, s *store.Server, g *gate, zone string, writes map[string]func() error) map[string]error {
	t.Helper()
	g.holdAt("before-commit")
	held := make(chan error, 1)
	go func() {
		_, err := s.CreateRecord(context.Background(), store.Record("team-a", "alone", "alone.example.org.", "A", "192.0.2.1"))
		held <- err
	}()
	<-g.reached
	type done struct {
		name string
		err  error
	}
	outcomes := make(chan done, len(writes))
	for i, name := range slices.Sorted(maps.Keys(writes)) {
		go func() { outcomes <- done{name, writes[name]()} }()
		store.Eventually(t, name+" waits at the zone", func() bool { return s.Ledger.Waiting("infra", zone) == i+1 })
	}
	g.holdAt("")
	errs := map[string]error{}
	for range writes {
		x := <-outcomes
		errs[x.name] = x.err
	}
	return errs
}

// Ten writes that fill etcd's requests go with ten small ones, and all succeed. On a machine whose disk is busy, etcd
// may take longer than a batch's 20 seconds. Such a write is unwritten, and the client tries it again.
func TestBatch_largeWritesFailNoOther(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st, g := store.New(t), &gate{}
	s := st.Server(func(c *ledger.Config) { c.OnFault = g.passPoint })
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	const n = 10
	ctx := context.Background()
	victims := func(round string, writes map[string]func() error) map[string]func() error {
		for i := range n {
			name := fmt.Sprintf("victim-%s-%d", round, i)
			writes[fmt.Sprintf("%02d-victim", i)] = func() error {
				_, err := s.CreateRecord(ctx, store.Record("team-a", name, name+".example.org.", "A", "192.0.2.1"))
				return err
			}
		}
		return writes
	}
	each := func(do func(name string, i int) error) map[string]func() error {
		writes := map[string]func() error{}
		for i := range n {
			writes[fmt.Sprintf("%02d-fat", i)] = func() error { return do(fmt.Sprintf("t%d", i), i) }
		}
		return writes
	}
	for _, x := range []struct {
		what string
		do   func(name string, i int) error
	}{
		{"created", func(name string, i int) error {
			_, err := s.CreateRecord(ctx, store.Record("team-b", name, name+".example.org.", "TXT", makeFatValues("<", i)...))
			return err
		}},
		{"updated", func(name string, i int) error {
			_, err := s.UpdateRecord(ctx, "team-b", name, func(r *v1alpha1.Record) { r.Spec.Values = makeFatValues("<", 50+i) })
			return err
		}},
		{"deleted", func(name string, _ int) error { return s.DeleteRecord(ctx, "team-b", name) }},
	} {
		writes := victims(x.what, each(x.do))
		for name, err := range writeTogether(t, s, g, writes) {
			for end := time.Now().Add(time.Minute); apierrors.IsServerTimeout(err) && time.Now().Before(end); {
				err = writes[name]()
			}
			if err != nil {
				t.Errorf("fat records are %s: %s: %v", x.what, name, err)
			}
		}
		must.Succeed(t, s.DeleteRecord(ctx, "team-a", "alone"))
	}
	if s.Ledger.Stats().Batches.Load() < 3 {
		t.Error("they did not go together")
	}
}

// The server is configured for longer requests than etcd accepts. After etcd's first refusal, batches and cascades
// become smaller. A write that is too long by itself is refused with 413, and no other write fails.
func TestBatch_isAsLongAsEtcdTakes(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st, g := store.On(t, store.Fresh(t, func(c *embed.Config) { c.MaxRequestBytes = 96 << 10 }), "/registry/kubizone"), &gate{}
	s := st.Server(func(c *ledger.Config) { c.OnFault = g.passPoint })
	stop := s.Run()
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	st.Settle()
	stop()
	values := func(n int) []string { return makeFatValues("x", 0)[:n] } // 4 KiB each, in the record and in the journal
	const n = 20
	writes := map[string]func() error{}
	for i := range n {
		name := fmt.Sprintf("r%02d", i)
		writes[name] = func() error {
			_, err := s.CreateRecord(context.Background(), setAge(store.Record("team-b", name, name+".example.org.", "TXT", values(3)...),
				i))
			return err
		}
	}
	create := func(name string) error {
		_, err := s.CreateRecord(context.Background(), store.Record("team-b", name, name+".example.org.", "TXT", values(13)...))
		return err
	}
	writes["too-long"] = func() error { return create("too-long") }
	errs := writeTogether(t, s, g, writes)
	errs["too-long, alone"] = create("too-long")
	for name, err := range errs {
		long := strings.HasPrefix(name, "too-long")
		if !long && err != nil || long && (!apierrors.IsRequestEntityTooLargeError(err) || !strings.Contains(err.Error(), "records team-b/too-long: ") || !strings.Contains(err.Error(), "--max-request-bytes")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	store.Must(s.UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.Delegations = []v1alpha1.DelegationRule{store.Allow("team-a", "*")} }))
	s.Run()
	st.Settle()
	for _, r := range s.ListRecords("team-b") {
		if r.Status.ZoneRef != nil {
			t.Errorf("the rule is withdrawn, and %s is left in the zone", r.Name)
		}
	}
}

// TooLarge recognizes the errors of a request longer than the limit of etcd or of its gRPC client, but no other
// exhausted resource, such as a full disk.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	st := store.New(t, store.Unchecked) // no ledger
	for octets, want := range map[int]bool{1 << 20: false, 1900 << 10: true, 2100 << 10: true, 8 << 20: true} {
		if _, err := st.Client.Client.Put(t.Context(), st.Prefix+"-long", strings.Repeat("x", octets)); ledger.TooLarge(err) != want || (err != nil) != want {
			t.Errorf("%d octets: %v", octets, err)
		}
	}
	for _, err := range []error{nil, rpctypes.ErrNoSpace, rpctypes.ErrGRPCNoSpace, context.DeadlineExceeded} {
		if ledger.TooLarge(err) {
			t.Errorf("%v", err)
		}
	}
}
