// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/history"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
)

// Each zone keeps its last JournalSteps steps, but no more than JournalOctets if some are longer than longStep: a step
// may have 200 KiB. Steps not confirmed by a Delivery stay up to keptOctets, because a provider that cannot list its
// RRsets finds in them which to remove.
//
// A server trims in the background after writing half of JournalSteps, JournalOctets of long steps or, for Deliveries,
// a quarter of keptOctets. Each server may exceed the bounds by as much.
const (
	JournalSteps  = 100
	JournalOctets = 256 << 10
	longStep      = 2 << 10 // octets
	// trimPage is the number of steps read at once, or more if short.
	trimPage    = 16
	trimTimeout = time.Minute
	entryOctets = 64
	// A zone with more than maxStates octets of former Records (before/) is archived.
	maxStates = 64 << 10
)

// IsUnsettled reports whether the delivered content is earlier than the zone's.
func IsUnsettled(z *v1alpha1.Zone) bool {
	return z.Status.SettledSerial != 0 && z.Status.SettledSerial != z.Status.Serial
}

func (jr *Journal) keptOctets(z *v1alpha1.Zone) int {
	return max(2*jr.Octets, entryOctets*int(z.Status.EntryCount))
}

func (jr *Journal) HasDelivery(z *v1alpha1.Zone) bool {
	return jr.Deliveries.Codec != nil && slices.Contains(z.Finalizers, v1alpha1.FinalizerDelivery)
}

// Journal reads the journals of zones (their latest changes, stored as steps in etcd), and trims them: old steps are
// deleted.
type Journal struct {
	Client            *clientv3.Client
	Layout            layout.Keys
	Zones, Deliveries objects.ObjectCodec
	KeptSteps, Octets int                // of a zone: JournalSteps and JournalOctets, except in tests
	Spawn             func(func())       // runs a trim in the background
	Fault             func(point string) // for tests
	SentValues        valueCache
	Archive           *history.Archive // receives the steps before a trim; nil means no history
	States            atomic.Int64     // estimated octets of the former Records under before/, for all zones
}

// Trimming is the state of a zone's trims (deletions of old journal steps) in this process.
type Trimming struct {
	mu              sync.Mutex
	zone            *v1alpha1.Zone // the last written Zone while a trim runs, otherwise nil
	rev             int64          // revision of zone
	condensedOctets int            // octets of the condensed step after the last trim
	writtenSteps    int            // steps written since the last trim
	octets          int            // octets of steps written since a trim last measured the journal
	long            int            // the part of octets by writes whose steps exceed longStep on average
	stateOctets     int            // octets of former Records (before/) written since the last trim
	done            bool           // the first trim is over
	// The keys before deletedBefore are deleted. This holds while the key of the zone's name has the create revision
	// nameRev: a zone that ended and came back has the same UID, but counts steps from 1.
	deletedBefore string
	nameRev       int64
}

// CountWrite counts a transaction's steps, their octets, and the octets of former Records (states), and starts a due
// trim in the background.
func (jr *Journal) CountWrite(t *Trimming, name string, z *v1alpha1.Zone, rev int64, steps, octets, states int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stateOctets += states
	jr.States.Add(int64(states))
	if octets > steps*longStep {
		t.long += octets
	}
	t.writtenSteps, t.octets = t.writtenSteps+steps, t.octets+octets
	if _, _, due := jr.isDue(t, z); !due && t.zone == nil {
		return
	}

	// A running trim takes the new state into account.
	running := t.zone != nil
	if t.zone, t.rev = z, rev; !running {
		jr.Spawn(func() { jr.trimWhileDue(t, name) })
	}
}

// isDue tells which parts of a trim are due for the zone z: to weigh octets, and to archive all steps for the sake of
// former Records. Without either part, a trim keeps the last KeptSteps. The caller holds t.mu.
func (jr *Journal) isDue(t *Trimming, z *v1alpha1.Zone) (weigh, archives, due bool) {
	hasExcess := uint64(z.Status.ContentGeneration) > uint64(jr.KeptSteps)
	isFirst := hasExcess && !t.done // an earlier process may have had other bounds
	hasNewExcess := hasExcess && t.writtenSteps >= max(1, jr.KeptSteps/2)
	weigh, archives = isFirst || jr.exceedsOctets(t, z), jr.exceedsStates(t)
	return weigh, archives, weigh || archives || hasNewExcess
}

// exceedsOctets reports whether the steps since the last weighing may exceed the bound of the journal's octets.
func (jr *Journal) exceedsOctets(t *Trimming, z *v1alpha1.Zone) bool {
	// For example a zone of large TXT values, where 100 steps are more than the bound of octets.
	if t.long >= jr.Octets {
		return true
	}
	// A Delivery that has confirmed nothing for days lets the journal grow up to keptOctets.
	hasReaders := jr.HasDelivery(z) || IsUnsettled(z)
	return hasReaders && t.octets >= max(jr.keptOctets(z), t.condensedOctets)/4
}

// exceedsStates reports whether the former Records of the zone, or those of all zones together, take too much of etcd.
// In the second case each zone with some is archived.
func (jr *Journal) exceedsStates(t *Trimming) bool {
	return t.stateOctets >= maxStates || t.stateOctets > 0 && jr.States.Load() > jr.statesRoom()
}

func (jr *Journal) statesRoom() int64 {
	if jr.Archive == nil {
		return math.MaxInt64
	}
	return jr.Archive.StatesRoom()
}

// trimWhileDue trims until no trim is due: a write during a trim may be the zone's last, so no later write would start
// another. After an error the next write retries.
func (jr *Journal) trimWhileDue(t *Trimming, name string) {
	ctx := jr.Client.Ctx()
	for {
		t.mu.Lock()
		// CountWrite may have set a later Zone since the last trim.
		z, rev := t.zone, t.rev
		weigh, archives, due := jr.isDue(t, z)
		if !due || ctx.Err() != nil {
			t.zone = nil
			t.mu.Unlock()
			return
		}

		// Count again from here, since the trim reads all steps so far.
		if archives {
			jr.States.Add(-int64(t.stateOctets))
		}
		t.writtenSteps, t.stateOctets = 0, 0
		if weigh {
			t.long, t.octets = 0, 0
		}
		t.mu.Unlock()

		within, cancel := context.WithTimeout(ctx, trimTimeout)
		condensed, err := jr.trimJournal(within, t, z, rev, weigh, archives)
		cancel()
		if err != nil && ctx.Err() == nil && !errors.Is(err, errArchived) {
			klog.FromContext(ctx).Error(err, "the journal of a zone is not trimmed; it is tried again", "zone", name)
		}

		t.mu.Lock()
		t.done, t.condensedOctets = true, condensed
		if err != nil {
			t.long += jr.Octets // makes the next trim due
			t.zone = nil
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
	}
}

// trimJournal archives old steps of z and deletes them, unless z has lost its name since revision rev. If weigh is
// true, it bounds the journal's octets. If archives is true, it archives all steps. It returns the octets of the
// condensed step before the trim. Two servers may trim at once, because Deliveries only ever need fewer steps.
func (jr *Journal) trimJournal(ctx context.Context, t *Trimming, z *v1alpha1.Zone, rev int64, weigh, archives bool) (condensed int,
	err error) {
	zone, newest := string(z.UID), uint64(z.Status.ContentGeneration)
	jr.Fault("trim")
	named, err := jr.compareName(ctx, z, rev)
	if err != nil || named == nil {
		return 0, err
	}

	// Earlier trims have deleted the keys before start. A range from the journal's beginning would pass over all of
	// these.
	start := t.startKey(jr.Layout.Journal(zone), named.GetCompare().GetCreateRevision())

	// 1. Find the oldest step to keep.
	oldest, most := newest-min(newest, uint64(jr.KeptSteps)), jr.Octets
	archived := oldest
	if archives {
		archived = newest
	}
	var needs func(serial.Serial) bool
	if jr.HasDelivery(z) {
		if needs, err = jr.findUndelivered(ctx, z); err != nil {
			return 0, err
		}
	}

	if IsUnsettled(z) {
		// Between the delivered serial and the present serial, a starting server needs every step to undo.
		undelivered, settled := needs, serial.Serial(z.Status.SettledSerial)
		needs = func(at serial.Serial) bool {
			return !settled.Ahead(at) || undelivered != nil && undelivered(at)
		}
	}

	if needs != nil {
		if oldest, err = jr.firstNeeded(ctx, zone, start, oldest, needs); err != nil {
			return 0, err
		}
		// Needed steps may have more octets.
		most = jr.keptOctets(z)
	}

	end := jr.Layout.Step(zone, oldest)
	if IsUnsettled(z) {
		c, _, err := jr.readCondensed(ctx, zone, new(int64))
		if err != nil {
			return 0, err
		}
		if c != nil && c.From == serial.Serial(z.Status.SettledSerial) {
			condensed = c.Octets
		}
	}

	// 2. Above the bound of octets, even needed steps are deleted.
	if weigh {
		if end, err = jr.weighSteps(ctx, zone, newest, oldest, max(most, condensed)); err != nil {
			return condensed, err
		}
	}

	// 3. Archive the steps, then delete them.
	if _, last, ok := jr.Layout.ParseStep(strings.TrimSuffix(end, "\x00")); ok {
		archived = max(archived, last)
	}
	if err := jr.archiveSteps(ctx, z, archived, *named); err != nil {
		return condensed, err
	}

	// Needed steps of an unsettled zone are condensed first.
	if IsUnsettled(z) && end > jr.Layout.Step(zone, oldest) {
		_, last, _ := jr.Layout.ParseStep(strings.TrimSuffix(end, "\x00"))
		if last, err = jr.Condense(ctx, z, rev, last); err != nil {
			return condensed, err
		}
		end = jr.Layout.Step(zone, last)
	}

	// Each page is a transaction of its own. If the zone loses its name, the purge of the zone deletes the rest.
	for from, more := start, true; more && from < end; {
		jr.Fault("trim-page")
		if from, more, err = etcd.DeletePage(ctx, jr.Client, from, end, *named); err != nil {
			return condensed, err
		}
		t.mu.Lock()
		t.deletedBefore = from
		t.mu.Unlock()
	}

	return condensed, nil
}

func (jr *Journal) ArchiveAll(ctx context.Context, z *v1alpha1.Zone, zoneRev int64) error {
	named, err := jr.compareName(ctx, z, zoneRev)
	if err != nil || named == nil {
		return err
	}
	if err = jr.archiveSteps(ctx, z, uint64(z.Status.ContentGeneration), *named); errors.Is(err, errArchived) {
		return nil
	}
	return err
}

var errArchived = errors.New("other servers archive its steps")

// archiveSteps copies the steps of z up to number upTo into the history, before a trim deletes them. After an error,
// the steps must stay. Damage is only logged, because otherwise a damaged archive would fill etcd with journals.
func (jr *Journal) archiveSteps(ctx context.Context, z *v1alpha1.Zone, upTo uint64, keepsName clientv3.Cmp) error {
	if jr.Archive == nil {
		return nil
	}
	kept, err := jr.Archive.ArchiveSteps(ctx, jr.Archive.HeaderOf(z), upTo, keepsName)
	switch {
	case errors.Is(err, layout.ErrUnreadable), etcd.IsRefused(err):
		klog.FromContext(ctx).Error(err, "Steps of a zone are not archived, and its history has a gap", "zone", klog.KObj(z))
	case err != nil:
		return err
	case !kept: // other servers were faster, or the zone has lost its name
		return errArchived
	}
	return nil
}

// startKey returns the key at which a trim begins: the end of the last trim, or the journal's beginning if the zone's
// name was created after that, at the revision named.
func (t *Trimming) startKey(journal string, named int64) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	// deletedBefore is unset, another zone's, or from before this zone ended and came back.
	if t.nameRev != named || !strings.HasPrefix(t.deletedBefore, journal) {
		t.deletedBefore, t.nameRev = journal, named
	}
	return t.deletedBefore
}

// firstNeeded returns the number of the first step, from the key from on and before oldest, with a serial that a reader
// needs, or oldest if there is none.
func (jr *Journal) firstNeeded(ctx context.Context, zone, from string, oldest uint64, needs func(serial.Serial) bool) (uint64, error) {
	needed := func(kv *mvccpb.KeyValue) (needed, mark bool, err error) {
		tx, err := jr.SentValues.Read(string(kv.Key), kv.Value)
		if err != nil {
			return false, false, layout.Unreadable(string(kv.Key), err)
		}
		n := len(tx.Steps)
		return n > 0 && needs(tx.Steps[n-1].Serial), n == 0, nil
	}

	end := jr.Layout.Step(zone, oldest)

	// Usually the last step shows that none is needed.
	r, err := jr.Client.Get(ctx, jr.Layout.Step(zone, oldest-min(oldest, layout.MaxSteps)), clientv3.WithRange(end), clientv3.WithLimit(1),
		clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend))
	if err != nil {
		return 0, err
	}
	if len(r.Kvs) > 0 {
		// The last value before oldest is not needed, so no earlier value is. A mark has no serial and decides nothing.
		if is, mark, err := needed(r.Kvs[0]); err != nil || !is && !mark {
			return oldest, err
		}
	}

	for more := true; more; {
		if r, err = jr.Client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(trimPage)); err != nil {
			return 0, err
		}
		for _, kv := range r.Kvs {
			if is, _, err := needed(kv); err != nil {
				return 0, err
			} else if is {
				_, first, _ := jr.Layout.ParseStep(string(kv.Key))
				return first, nil
			}
			from = string(kv.Key) + "\x00"
		}
		more = r.More
	}

	return oldest, nil
}

// weighSteps returns the key before which to trim, so that the steps that stay have at most most octets. Step newest
// stays in any case, and steps before oldest go in any case.
func (jr *Journal) weighSteps(ctx context.Context, zone string, newest, oldest uint64, most int) (string, error) {
	octets := 0
	// Values differ from a few octets to 200 KiB, so pages grow only while they are short.
	for end, page := newest, uint64(trimPage); end > oldest; {
		from, before := end-min(end-oldest, page), octets
		r, err := jr.Client.Get(ctx, jr.Layout.Step(zone, from), clientv3.WithRange(jr.Layout.Step(zone, end)))
		if err != nil {
			return "", err
		}
		for _, kv := range slices.Backward(r.Kvs) {
			if octets += len(kv.Value); octets > most {
				// This value and all before go.
				return string(kv.Key) + "\x00", nil
			}
		}
		if octets-before < longStep*trimPage {
			page *= 2
		}
		end = from
	}
	return jr.Layout.Step(zone, oldest), nil
}

// findUndelivered returns the test whether a Delivery needs a serial's step, or nil if none is needed.
func (jr *Journal) findUndelivered(ctx context.Context, z *v1alpha1.Zone) (func(serial.Serial) bool, error) {
	var earliest serial.Serial
	unread := false

	// A Delivery's name begins with the zone's name, cut if long.
	prefix := jr.Layout.Object("deliveries", z.Namespace, strings.TrimRight(z.Name[:min(len(z.Name), 200)], ".-")+"-")
	if len(z.Name) > 200 {
		prefix = strings.TrimSuffix(prefix, "-")
	}
	rev := int64(0)
	err := etcd.EachPage(ctx, jr.Client, prefix, &rev, func(key string, data []byte, mod int64) error {
		var d v1alpha1.Delivery
		if err := jr.Deliveries.Decode(ctx, key, data, mod, &d); err != nil {
			klog.FromContext(ctx).Error(err, "a Delivery cannot be read; the journal of its zone is kept as if it had confirmed nothing",
				"key", key)
			unread = true
			return nil
		}

		// The name of another zone may begin alike.
		if d.Spec.Zone.UID != z.UID {
			return nil
		}
		since := []int64{d.Status.Serial}
		// An interrupted delivery may have left the provider at the serial where it began.
		if d.Status.Intent != nil {
			since = append(since, d.Status.Intent.From)
		}

		for _, at := range since {
			if at := serial.Serial(at); at != 0 && (earliest == 0 || earliest.Ahead(at)) {
				earliest = at
			}
		}

		return nil
	})

	switch {
	case err != nil:
		return nil, err
	// The unreadable Delivery may need any step.
	case unread:
		return func(serial.Serial) bool { return true }, nil
	case earliest == 0:
		return nil, nil
	}

	return func(at serial.Serial) bool { return !earliest.Ahead(at) }, nil
}

// Steps returns a zone's steps after a serial and up to step n, oldest first, and the content state at the serial as
// proof. The error is ErrTrimmed if the journal begins later, or the zone never had the serial.
func (jr *Journal) Steps(ctx context.Context, zone string, since serial.Serial, n uint64) (before sethash.State, steps []content.Step,
	err error) {
	return jr.StepsFrom(ctx, zone, since, n, false, 0)
}

// StepsFrom is like Steps, at revision rev, or 0 for the present. If all is true, the steps begin at the oldest serial
// with a known content state, or at the zone's creation.
func (jr *Journal) StepsFrom(ctx context.Context, zone string, since serial.Serial, n uint64, all bool, rev int64) (sethash.State,
	[]content.Step, error) {
	before, steps, err := jr.journalFrom(ctx, zone, since, n, all, &rev)
	if all || !errors.Is(err, ErrTrimmed) {
		return before, steps, err
	}

	// The oldest steps may be merged. Read at the same revision, because steps move between journal and condensed step.
	c, _, failed := jr.readCondensed(ctx, zone, &rev)
	if failed != nil || c == nil || c.From != since {
		return before, nil, cmp.Or(failed, err)
	}

	// The condensed step cannot be divided.
	if c.Step.N > n {
		return before, nil, fmt.Errorf("zone %s has changed too much to read the steps from serial %d to step %d, "+
			"and they are condensed up to step %d; read the zone again", zone, since, n, c.Step.N)
	}
	stepsAfter, stepsRead := n-c.Step.N, uint64(len(steps))
	hasGap := stepsAfter > stepsRead
	if hasGap {
		// A step between the condensed step and the journal is missing.
		return before, nil, err
	}
	steps = steps[stepsRead-stepsAfter:]

	// The condensed step replaces the journal's steps up to its own.
	first, err := jr.condensedStep(ctx, zone, c, rev)
	if err != nil {
		return before, nil, err
	}
	return c.State, append([]content.Step{first}, steps...), nil
}

// journalFrom is like StepsFrom, without the condensed step. A *rev of 0 becomes the read's revision. With ErrTrimmed
// it also returns the existing steps.
func (jr *Journal) journalFrom(ctx context.Context, zone string, since serial.Serial, n uint64, all bool, rev *int64) (before sethash.State,
	steps []content.Step, err error) {
	trimmed := func() (sethash.State, []content.Step, error) {
		if last := len(steps) - 1; all && last >= 0 {
			// The content before the oldest step is unknown.
			before, steps = steps[last].State, steps[:last]
			slices.Reverse(steps)
			return before, steps, nil
		}
		slices.Reverse(steps)
		return before, steps, fmt.Errorf("zone %s, from serial %d to step %d: %w", zone, since, n, ErrTrimmed)
	}

	// A batch is stored under its last step, so step n may be in a later key.
	for to, page := clientv3.GetPrefixRangeEnd(jr.Layout.Journal(zone)), uint64(trimPage); ; page *= 2 {
		// Read the values before the last page, newest first.
		next := n - uint64(len(steps))
		from := next - min(next, page)
		r, err := jr.Client.Get(ctx, jr.Layout.Step(zone, from), clientv3.WithRange(to), clientv3.WithRev(*rev))
		if err != nil {
			return before, nil, err
		}
		if *rev == 0 {
			*rev = r.Header.Revision
		}

		for _, kv := range slices.Backward(r.Kvs) {
			tx, err := jr.SentValues.Read(string(kv.Key), kv.Value)
			if err != nil {
				return before, nil, layout.Unreadable(string(kv.Key), err)
			}

			for _, step := range slices.Backward(tx.Steps) {
				switch {
				// The batch has later steps, too.
				case step.N > next:
					continue
				// The next older step is gone, or all steps left are older than the serial: the zone never had it.
				case step.N != next || !all && since.Ahead(step.Serial):
					return trimmed()
				case !all && step.Serial == since, all && step.Creates():
					slices.Reverse(steps)
					// Step since itself is not returned. Its state is the content from which the others lead on.
					return step.State, steps, nil
				}
				steps = append(steps, step)
				next--
			}
		}

		if next >= from { // no step here
			return trimmed()
		}
		to = jr.Layout.Step(zone, from)
	}
}

var ErrTrimmed = errors.New("the journal no longer reaches back so far")
