// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

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
)

// views reads recent content of zones from memory, and older changes from the journal in etcd. A step is the change
// between two serials.
type views struct {
	zones *zoneview.Set
	// frozenCause returns an error if the content of the zone with the UID does not match its hash. Such a zone is not
	// served.
	frozenCause func(uid string) error
	// readSteps reads the steps from the serial since up to step number n, and the content state (a hash) at since. The
	// error is journal.ErrTrimmed if the journal has dropped some.
	readSteps func(ctx context.Context, uid string, since serial.Serial, n uint64) (sethash.State, []content.Step, error)
	// readJournal reads all steps that the journal has up to step number n, and the content state before them.
	readJournal func(ctx context.Context, uid string, n uint64) (sethash.State, []content.Step, error)
	// readEnded returns the RRsets of an ended zone (without a name, S3.7) that a provider with the serial since may
	// have, or journal.ErrTrimmed.
	readEnded func(ctx context.Context, zone *v1alpha1.Zone, since serial.Serial) (*journal.EndedContent, error)
}

var _ zone.Views = views{}

// Snapshot waits until memory has the zone at status.contentGeneration or later. The error is 404 if the zone goes, and
// 500 if the zone is frozen.
func (v views) Snapshot(ctx context.Context, object *v1alpha1.Zone) (zone.Snapshot, error) {
	uid, wanted := string(object.UID), uint64(object.Status.ContentGeneration)
	// A frozen zone is still served if memory has proven content at this step.
	if snapshot, ok := v.zones.ByUID(uid); !ok || snapshot.N() < wanted {
		if err := v.checkFrozen(object); err != nil {
			return nil, err
		}
	}
	snapshot, err := v.zones.Wait(ctx, uid, wanted)
	if errors.Is(err, zoneview.ErrGone) {
		return nil, apierrors.NewNotFound(v1alpha1.Resource("zones"), object.Name)
	}
	if err != nil {
		return nil, cmp.Or(v.checkFrozen(object), err)
	}
	return snapshot, nil
}

// checkFrozen returns the answer to readers of a frozen zone. Only the log has the cause, which may name Records of
// other namespaces.
func (v views) checkFrozen(zone *v1alpha1.Zone) error {
	if v.frozenCause(string(zone.UID)) == nil {
		return nil
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonStoreReadError,
		Message: fmt.Sprintf("zone %s is frozen: its stored content does not match its hash, so it is not served. The server's log and "+
			"kubizone fsck name the damage", zone.Status.FQDN),
		Details: &metav1.StatusDetails{Group: v1alpha1.GroupName, Kind: "zones", Name: zone.Name, UID: zone.UID},
	}}
}

// SnapshotAt undoes steps from the newest content. The error is ErrNotHeld for a serial that is unknown or too old.
func (v views) SnapshotAt(ctx context.Context, object *v1alpha1.Zone, at serial.Serial) (zone.Snapshot, error) {
	snapshot, ok := v.zones.ByUID(string(object.UID))
	if !ok {
		return nil, zone.ErrNotHeld
	}
	if snapshot.Serial() == at {
		return snapshot, nil
	}
	steps, _, err := v.Steps(ctx, object, at, snapshot.Serial(), false)
	if err != nil {
		return nil, err
	}
	return snapshot.UndoAll(steps)
}

// Oldest returns the earliest serial that Steps accepts as since. After a restart memory has only the latest steps, so
// the stored journal counts too, if its steps lead to the zone's content.
func (v views) Oldest(ctx context.Context, object *v1alpha1.Zone) (serial.Serial, error) {
	uid := string(object.UID)
	oldest, keptSteps, err := v.zones.Oldest(uid)
	if err != nil {
		return 0, asNotHeld(err)
	}
	newest, ok := v.zones.ByUID(uid)
	if !ok {
		return 0, zone.ErrNotHeld
	}
	before, steps, err := v.readJournal(ctx, uid, newest.N())
	switch {
	case errors.Is(err, journal.ErrTrimmed):
		return oldest, nil
	case err != nil:
		return 0, err
	case len(steps) <= keptSteps:
		return oldest, nil
	}
	if _, _, err := proveSteps(ctx, newest, newest.Serial(), before, steps); err != nil {
		return oldest, nil
	}
	return steps[0].From, nil
}

// Steps reads steps and changed entries together, because the journal may drop steps between two reads.
func (v views) Steps(ctx context.Context, object *v1alpha1.Zone, since, until serial.Serial, withEntries bool) (steps []content.Step,
	changes []dns.Change, err error) {
	uid := string(object.UID)
	if withEntries {
		steps, changes, err = v.zones.ResolvedSteps(uid, since, until)
	} else {
		steps, err = v.zones.Changes(uid, since, until)
	}
	if errors.Is(err, zoneview.ErrTrimmed) {
		var after *zoneview.Snapshot
		if after, steps, err = v.readStoredSteps(ctx, uid, since, until); err == nil && withEntries {
			changes, err = zoneview.Resolve(after, steps)
		}
	}
	return steps, changes, asNotHeld(err)
}

// EndedZone returns the name of an ended zone, and a change that removes its RRsets. An RRset appears once, by name and
// type, without TTL and data.
func (v views) EndedZone(ctx context.Context, object *v1alpha1.Zone, since serial.Serial) (name.Name, dns.Change, error) {
	left, err := v.readEnded(ctx, object, since)
	if err != nil {
		return name.Name{}, dns.Change{}, asNotHeld(err)
	}
	fqdn := left.Header.FQDN
	entries := map[dns.Entry]bool{}
	// A snapshot without rows has the RRsets that the header makes: apex NS and addresses.
	for entry := range zoneview.NewSnapshot(zoneview.Zone{}, left.Header, left.Serial, 0, sethash.State{},
		func(func(content.RRset) bool) {}).Entries() {
		if entry.Type != rdata.SOA {
			entries[dns.Entry{Name: entry.Name, Type: entry.Type}] = true
		}
	}

	for _, row := range left.Rows {
		if owner, err := row.Owner.In(fqdn); err == nil { // otherwise no server had that name
			entries[dns.Entry{Name: owner, Type: row.Type}] = true
		}
	}

	change := dns.Change{From: since, To: left.Serial, Removed: slices.SortedFunc(maps.Keys(entries), func(a, b dns.Entry) int {
		return cmp.Or(a.Name.Compare(b.Name), cmp.Compare(a.Type, b.Type))
	})}
	return fqdn, change, nil
}

// readStoredSteps reads steps from the journal in etcd, when memory has dropped them, and proves them against the
// newest content. after is the content at until.
func (v views) readStoredSteps(ctx context.Context, uid string, since, until serial.Serial) (after *zoneview.Snapshot, steps []content.Step,
	err error) {
	after, ok := v.zones.ByUID(uid)
	if !ok {
		return nil, nil, fmt.Errorf("zone %s: %w", uid, zoneview.ErrUnknown)
	}
	before, steps, err := v.readSteps(ctx, uid, since, after.N())
	if err != nil {
		return nil, nil, err
	}
	return proveSteps(ctx, after, until, before, steps)
}

// proveSteps undoes the stored steps from the newest content, whose hash is proven. The oldest content must then have
// the state stored for the first step. proveSteps returns the content at the serial until, and the steps to there.
func proveSteps(ctx context.Context, newest *zoneview.Snapshot, until serial.Serial, firstState sethash.State, steps []content.Step) (
	*zoneview.Snapshot, []content.Step, error) {
	var err error
	uid, current := newest.Zone().UID, newest
	var found *zoneview.Snapshot
	stepsToFound := 0

	for i := len(steps); ; i-- {
		// Keep the content at until, but go on to the oldest step for the proof.
		if current.Serial() == until {
			found, stepsToFound = current, i
		}
		if i == 0 {
			break
		}
		if current, err = current.Undo(steps[i-1]); err != nil {
			break
		}
	}
	switch {
	case err != nil, current.State() != firstState:
		klog.FromContext(ctx).Error(err, "The stored journal of a zone is damaged, and not served; kubizone fsck names the step",
			"uid", uid, "steps", len(steps))
		return nil, nil, zone.ErrNotHeld
	case found == nil:
		return nil, nil, fmt.Errorf("zone %s: serial %d does not lie among the last %d steps: %w", uid, until, len(steps),
			zoneview.ErrTrimmed)
	}
	return found, steps[:stepsToFound], nil
}

func asNotHeld(err error) error {
	if errors.Is(err, zoneview.ErrTrimmed) || errors.Is(err, zoneview.ErrUnknown) || errors.Is(err, journal.ErrTrimmed) {
		return fmt.Errorf("%w: %w", zone.ErrNotHeld, err)
	}
	return err
}
