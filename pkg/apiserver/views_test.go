// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/registry/zone"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/pkg/zone/ledger/journal"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/steps"
)

const uid = "u"

func makeZone(n int64) *v1alpha1.Zone {
	return &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "z", UID: uid}, Status: v1alpha1.ZoneStatus{FQDN: "example.org.", Serial: 99 + n, ContentGeneration: n}}
}

func applySteps(t *testing.T, set *zoneview.Set, all []content.Step) {
	t.Helper()
	must.Succeed(t, set.Apply(uid, content.Transaction{Steps: all, Settled: true}, zoneview.Zone{UID: uid, Namespace: "ns", Name: "z"}))
}

// A request that has read a Zone takes the zone's content from the view in memory. If the view is behind, the answer
// waits for the step of the Zone that was read, and no longer. So an answer is never older than the Zone (A2, S7.1).
func TestViews_answerAtTheZoneReadOrLater(t *testing.T) {
	set := zoneview.NewSet(zoneview.Config{})
	v := views{set, func(string) error { return nil }, nil, nil, nil}
	all := steps.Make(t, 2)
	applySteps(t, set, all[:2])
	snapshot, err := v.Snapshot(t.Context(), makeZone(2))
	if err != nil || snapshot.N() != 2 {
		t.Fatalf("%v, %v", snapshot, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := v.Snapshot(ctx, makeZone(3)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a view that is behind answers: %v", err)
	}
	got := make(chan zone.Snapshot)
	go func() {
		snapshot, _ := v.Snapshot(t.Context(), makeZone(3))
		got <- snapshot
	}()
	applySteps(t, set, all[2:])
	if snapshot := <-got; snapshot == nil || snapshot.N() != 3 {
		t.Errorf("after the step came: %v", snapshot)
	}
	go func() {
		_, err := v.Snapshot(t.Context(), makeZone(9))
		if !apierrors.IsNotFound(err) {
			t.Errorf("a zone that went while waited for: %v", err)
		}
		close(got)
	}()
	for len(got) == 0 {
		set.Remove(uid)
		select {
		case <-got:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// A zone is frozen if a server's content does not match the stored hash. The server then still answers for the serials
// that it had proved, and gives an error that names `kubizone fsck` for all later ones (F30).
func TestViews_answerOfAFrozenZoneWhatWasProven(t *testing.T) {
	set := zoneview.NewSet(zoneview.Config{})
	v := views{set, func(string) error { return zoneview.ErrMisfit }, nil, nil, nil}
	if _, err := v.Snapshot(t.Context(), makeZone(1)); !apierrors.IsStoreReadError(err) || !strings.Contains(err.Error(), "kubizone fsck") {
		t.Errorf("a zone that was never proven is answered with %v", err)
	}
	applySteps(t, set, steps.Make(t, 2))
	if snapshot, err := v.Snapshot(t.Context(), makeZone(3)); err != nil || snapshot.N() != 3 {
		t.Errorf("what was proven is not answered: %v, %v", snapshot, err)
	}
	if _, err := v.Snapshot(t.Context(), makeZone(4)); !apierrors.IsStoreReadError(err) {
		t.Errorf("what is not proven is answered with %v", err)
	}
}

func TestViews_answerForSerialsThatAreKept(t *testing.T) {
	set := zoneview.NewSet(zoneview.Config{MaxSteps: 3})
	all := steps.Make(t, 5)
	// The stored journal reaches back one serial further than the Set.
	damage := slices.Clone[[]content.Step]
	v := views{set, func(string) error { return nil }, func(_ context.Context, zone string, since serial.Serial, n uint64) (before sethash.State, steps []content.Step, err error) {
		if zone != uid || since < 101 || since >= 99+serial.Serial(n) {
			return before, nil, journal.ErrTrimmed
		}
		return all[since-100].State, damage(all[since-99 : n]), nil
	}, func(_ context.Context, _ string, n uint64) (before sethash.State, steps []content.Step, err error) {
		return all[1].State, damage(all[2:n]), nil
	}, nil}
	applySteps(t, set, all)
	for at := serial.Serial(101); at <= 105; at++ {
		snapshot, err := v.SnapshotAt(t.Context(), makeZone(6), at)
		if err != nil || snapshot.Serial() != at || snapshot.State() != all[at-100].State {
			t.Errorf("at %d: %v, %v", at, snapshot, err)
		}
	}
	if _, err := v.SnapshotAt(t.Context(), makeZone(6), 100); !errors.Is(err, zone.ErrNotHeld) {
		t.Errorf("a serial that is trimmed: %v", err)
	}
	if _, _, err := v.Steps(t.Context(), makeZone(6), 100, 105, false); !errors.Is(err, zone.ErrNotHeld) {
		t.Errorf("steps that are trimmed: %v", err)
	}
	if got, _, err := v.Steps(t.Context(), makeZone(6), 103, 105, false); err != nil || len(got) != 2 {
		t.Errorf("steps: %v, %v", got, err)
	}
	if _, got, err := v.Steps(t.Context(), makeZone(6), 103, 104, true); err != nil || len(got) != 1 || len(got[0].Added) == 0 {
		t.Errorf("changes: %v, %v", got, err)
	}
	for _, until := range []serial.Serial{102, 103, 105} {
		steps, got, err := v.Steps(t.Context(), makeZone(6), 101, until, true)
		if err != nil || len(steps) != len(got) ||
			len(got) != int(until-101) || got[0].From != 101 || got[len(got)-1].To != until || len(got[0].Added) == 0 {
			t.Errorf("changes from the stored journal up to %d: %v, %v", until, got, err)
		}
	}
	if got, _, err := v.Steps(t.Context(), makeZone(6), 101, 107, false); !errors.Is(err, zone.ErrNotHeld) {
		t.Errorf("steps up to a serial to come: %v, %v", got, err)
	}
	if oldest, err := v.Oldest(t.Context(), makeZone(6)); err != nil || oldest != 101 {
		t.Errorf("the oldest serial: %d, %v, want that of the stored journal", oldest, err)
	}
	// Stored steps are served up to the first unproven.
	for at := range 4 {
		damage = func(stored []content.Step) []content.Step {
			stored = slices.Clone(stored)
			stored[at].Added = []content.Row{{Owner: name.MustRel("www"), Type: rdata.A, Data: "203.0.113.66"}}
			return stored
		}
		if oldest, err := v.Oldest(t.Context(), makeZone(6)); err != nil || oldest != 102 {
			t.Errorf("the oldest serial where a stored step is damaged: %d, %v, want that of the Set", oldest, err)
		}
		if got, _, err := v.Steps(t.Context(), makeZone(6), 101, 105, false); !errors.Is(err, zone.ErrNotHeld) {
			t.Errorf("steps of which one is damaged: %v, %v", got, err)
		}
		damage = func(stored []content.Step) []content.Step {
			stored = slices.Clone(stored)
			stored[at].Removed = []content.Row{{Owner: name.MustRel("www"), Type: rdata.A, Data: "203.0.113.66"}}
			return stored
		}
		if _, got, err := v.Steps(t.Context(), makeZone(6), 101, 102, true); !errors.Is(err, zone.ErrNotHeld) {
			t.Errorf("changes of which one is damaged: %v, %v", got, err)
		}
	}
	set.Remove(uid)
	if _, err := v.SnapshotAt(t.Context(), makeZone(6), 105); !errors.Is(err, zone.ErrNotHeld) {
		t.Errorf("a zone that is gone: %v", err)
	}
	if _, _, err := v.Steps(t.Context(), makeZone(6), 103, 104, true); !errors.Is(err, zone.ErrNotHeld) {
		t.Errorf("changes of a zone that is gone: %v", err)
	}
}

// The journal of a zone may be condensed at any time while the zone is held back (S7.5): two steps then become one. An
// answer has steps and their changes, and takes both from a single read, because two reads could give different numbers
// of steps (S8.6).
func TestViews_readStoredStepsOnce_S8_6(t *testing.T) {
	set := zoneview.NewSet(zoneview.Config{MaxSteps: 1})
	all := steps.Make(t, 5)
	reads := 0
	v := views{zones: set, readSteps: func(_ context.Context, _ string, since serial.Serial, n uint64) (
		sethash.State, []content.Step, error) {
		steps := slices.Clone(all[since-99 : n])
		if reads++; reads > 1 {
			steps = append([]content.Step{content.Condense(steps[:2])}, steps[2:]...)
		}
		return all[since-100].State, steps, nil
	}}
	applySteps(t, set, all)
	for _, want := range []int{4, 3} {
		steps, changes, err := v.Steps(t.Context(), makeZone(6), 101, 105, true)
		if err != nil || len(steps) != want || !slices.EqualFunc(steps, changes, func(step content.Step, change dns.Change) bool {
			return step.From == change.From && step.Serial == change.To
		}) {
			t.Errorf("%d steps, %d changes, %v: want %d of each", len(steps), len(changes), err, want)
		}
	}
	if reads != 2 {
		t.Errorf("two answers read the journal %d times", reads)
	}
}

// For a zone that ended, a provider needs the names and types that it has to remove. The answer lists those of the
// Records and of the zone's name servers, each once (S3.5, S8.4).
func TestViews_nameWhatAnEndedZoneHad_S3_7(t *testing.T) {
	known := true
	v := views{readEnded: func(_ context.Context, z *v1alpha1.Zone, since serial.Serial) (*journal.EndedContent, error) {
		if !known {
			return nil, journal.ErrTrimmed
		}
		return &journal.EndedContent{
			Header: content.Header{FQDN: name.MustParse("example.org."), NameServers: []content.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}}},
			Serial: since + 2,
			Rows:   []content.Row{{Owner: name.MustRel("www"), Type: rdata.A}, {Owner: name.MustRel("www"), Type: rdata.A}, {Owner: name.MustRel("@"), Type: rdata.MX}},
		}, nil
	}}
	fqdn, change, err := v.EndedZone(t.Context(), &v1alpha1.Zone{}, 5)
	if err != nil || fqdn.String() != "example.org." || change.From != 5 || change.To != 7 || len(change.Added) != 0 {
		t.Fatalf("%s, %+v, %v", fqdn, change, err)
	}
	var got []string
	for _, entry := range change.Removed {
		got = append(got, entry.Name.String()+" "+entry.Type.String())
	}
	if want := []string{"example.org. NS", "example.org. MX", "ns1.example.org. A", "www.example.org. A"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	known = false
	if _, _, err := v.EndedZone(t.Context(), &v1alpha1.Zone{}, 5); !errors.Is(err, zone.ErrNotHeld) {
		t.Errorf("what is not known any more: %v", err)
	}
}
