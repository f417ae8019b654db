// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/sethash"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// The journal of a zone says what the zone had before. Views follow what is written to it, and a server starts from
// the records, so for these two it need not stay. But a provider that cannot list what it has is told by the journal
// which RRsets it has to remove (S8.6), and nothing else has them. So the steps that some Delivery has not confirmed
// stay, up to keptOctets, and of all others little, or the changes of many zones would fill etcd: JournalSteps of a
// zone, and where steps are longer than longStep JournalOctets of them. One record makes as many steps as its writer
// likes, of up to some 200 KiB.
//
// No write trims. Beside the writes, each time that a server has written half of JournalSteps it leaves so many, and
// each time that it has written JournalOctets of long ones, or for a Delivery a quarter of keptOctets, it weighs what
// is there. Just before there are half as many more, or twice as many octets, and as many again for each further
// server that writes. The oldest go first, so that a journal never has a gap.
const (
	JournalSteps  = 100
	JournalOctets = 256 << 10
	longStep      = 2 << 10
	// trimPage steps are read at once, some megabytes of the longest, and more where they are short.
	trimPage    = 16
	trimTimeout = time.Minute
	// entryOctets is how much is kept, for each entry of a zone, of steps that a provider has not confirmed, and at
	// least twice JournalOctets. A Record of one entry counts some forty times as much (S9.1), and one with as many
	// values as there may be a third of that, so that a tenant's journals are bounded as its records and zones are.
	entryOctets = 64
)

// Unsettled reports whether what is delivered of the zone is an earlier content (S7.2, S7.5). A server that starts,
// and a controller, find that by undoing the steps since.
func Unsettled(z *v1alpha1.Zone) bool {
	return z.Status.SettledSerial != 0 && z.Status.SettledSerial != z.Status.Serial
}

// keptOctets returns how many octets of a zone's journal are kept for its Deliveries, and while it is unsettled.
// Beyond that, older steps are condensed.
func (jr *Journal) keptOctets(z *v1alpha1.Zone) int {
	return max(2*jr.Octets, entryOctets*int(z.Status.EntryCount))
}

// Holds reports whether the zone has Deliveries.
func (jr *Journal) Holds(z *v1alpha1.Zone) bool {
	return jr.Deliveries.Codec != nil && slices.Contains(z.Finalizers, v1alpha1.FinalizerDelivery)
}

// Journal reads and trims the journals of zones.
type Journal struct {
	Client            *clientv3.Client
	Layout            layout.Keys
	Zones, Deliveries objects.ObjectCodec
	// KeptSteps and Octets are JournalSteps and JournalOctets, but in tests.
	KeptSteps, Octets int
	Spawn             func(func())
	Fault             func(point string)
	Made              made
}

// Trimming is what this process remembers of the journal of one zone that it writes to.
type Trimming struct {
	mu sync.Mutex
	// condensed is the number of octets of what was condensed of it, as the last trim found it.
	condensed int
	// written are the steps since it was trimmed last, octets theirs and long those of long ones since it was weighed.
	written, octets, long int
	// running says that the journal is being trimmed, and done that this process has trimmed it and has left nothing
	// before the key to since the zone has its name. A zone that ended and stands again (S3.7) has its uid, and
	// counts its steps from the first on.
	running, done bool
	to            string
	named         int64
}

// Wrote notes the octets of the value that the transaction at rev has written to the journal of z, whose last step it
// has. name is the zone's, for the log.
func (jr *Journal) Wrote(t *Trimming, name string, z *v1alpha1.Zone, rev int64, steps, octets int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if octets > steps*longStep {
		t.long += octets
	}
	t.written, t.octets = t.written+steps, t.octets+octets
	newest, most := uint64(z.Status.ContentGeneration), jr.KeptSteps
	// The first write of this process takes away what a server with other bounds left.
	first := !t.done && newest > uint64(most)
	weigh := first || t.long >= jr.Octets || (jr.Holds(z) || Unsettled(z)) && t.octets >= max(jr.keptOctets(z), t.condensed)/4
	if t.running || !weigh && (t.written < max(1, most/2) || newest <= uint64(most)) {
		return
	}
	if weigh {
		t.long, t.octets = 0, 0
	}
	t.written, t.running = 0, true
	jr.Spawn(func() {
		served := jr.Client.Ctx()
		ctx, cancel := context.WithTimeout(served, trimTimeout)
		defer cancel()
		condensed, err := jr.trimJournal(ctx, t, z, rev, weigh)
		t.mu.Lock()
		t.running, t.done, t.condensed = false, true, condensed
		if err != nil { // the next step tries again
			t.long += jr.Octets
		}
		t.mu.Unlock()
		if err != nil && served.Err() == nil {
			klog.FromContext(ctx).Error(err, "the journal of a zone is not trimmed; it is tried again", "zone", name)
		}
	})
}

// trimJournal leaves so many steps of a journal, counted back from the one that z stands at, and what a Delivery
// needs, and of all that so many octets, if they are weighed. Of an unsettled zone it condenses what it takes away of
// that, and returns the octets of what was. Two servers may do it at once. A Delivery that is made after they were
// read needs no step before the serial that the zone has by then, and the others need fewer as time goes. Nothing is
// taken where the zone has left its name since rev.
func (jr *Journal) trimJournal(ctx context.Context, t *Trimming, z *v1alpha1.Zone, rev int64, weigh bool) (condensed int, err error) {
	zone, newest := string(z.UID), uint64(z.Status.ContentGeneration)
	jr.Fault("trim")
	stands, err := jr.stillNamed(ctx, z, rev)
	if err != nil || stands == nil {
		return 0, err
	}
	start := t.startKey(jr.Layout.Journal(zone), stands.GetCompare().GetCreateRevision())
	oldest, most := newest-min(newest, uint64(jr.KeptSteps)), jr.Octets
	var needs func(serial.Serial) bool
	if jr.Holds(z) {
		if needs, err = jr.findUndelivered(ctx, z); err != nil {
			return 0, err
		}
	}
	if Unsettled(z) {
		undelivered, settled := needs, serial.Serial(z.Status.SettledSerial)
		needs = func(at serial.Serial) bool {
			return !settled.Ahead(at) || undelivered != nil && undelivered(at)
		}
	}
	if needs != nil {
		if oldest, err = jr.firstNeeded(ctx, zone, start, oldest, needs); err != nil {
			return 0, err
		}
		most = jr.keptOctets(z)
	}
	end := jr.Layout.Step(zone, oldest)
	if Unsettled(z) {
		c, _, err := jr.readCondensed(ctx, zone, new(int64))
		if err != nil {
			return 0, err
		}
		if c != nil && c.From == serial.Serial(z.Status.SettledSerial) {
			condensed = c.Octets
		}
	}
	if weigh {
		// what was condensed is written anew each time
		if end, err = jr.weighSteps(ctx, zone, newest, oldest, max(most, condensed)); err != nil {
			return condensed, err
		}
	}
	if Unsettled(z) && end > jr.Layout.Step(zone, oldest) {
		_, last, _ := jr.Layout.ParseStep(strings.TrimSuffix(end, "\x00"))
		if last, err = jr.Condense(ctx, z, rev, last); err != nil {
			return condensed, err
		}
		end = jr.Layout.Step(zone, last)
	}
	for from, more := start, true; more && from < end; {
		jr.Fault("trim-page")
		if from, more, err = etcd.DeletePage(ctx, jr.Client, from, end, *stands); err != nil {
			return condensed, err
		}
		t.mu.Lock()
		t.to = from
		t.mu.Unlock()
	}
	return condensed, nil
}

// startKey returns the key before which this process has left nothing of the journal of a zone that has had its name
// since the revision named. No step is written there any more.
func (t *Trimming) startKey(journal string, named int64) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	// nothing yet, of a zone that had the name before, or from before this one ended
	if t.named != named || !strings.HasPrefix(t.to, journal) {
		t.to, t.named = journal, named
	}
	return t.to
}

// firstNeeded returns the first step behind a key and before oldest that is needed, or oldest where none is.
func (jr *Journal) firstNeeded(ctx context.Context, zone, from string, oldest uint64, needs func(serial.Serial) bool) (uint64, error) {
	needed := func(kv *mvccpb.KeyValue) (needed, mark bool, err error) {
		tx, err := jr.Made.Read(string(kv.Key), kv.Value)
		if err != nil {
			return false, false, layout.Unreadable(string(kv.Key), err)
		}
		n := len(tx.Steps)
		return n > 0 && needs(tx.Steps[n-1].Serial), n == 0, nil
	}
	end := jr.Layout.Step(zone, oldest)
	// Mostly none is, as the last of them says.
	r, err := jr.Client.Get(ctx, jr.Layout.Step(zone, oldest-min(oldest, layout.MaxSteps)), clientv3.WithRange(end), clientv3.WithLimit(1),
		clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend))
	if err != nil {
		return 0, err
	}
	if len(r.Kvs) > 0 {
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

// weighSteps returns the key before which a journal is to end: before oldest, and before all steps beyond so many
// octets, counted back from the step newest, which always stays.
func (jr *Journal) weighSteps(ctx context.Context, zone string, newest, oldest uint64, most int) (string, error) {
	octets := 0
	for end, page := newest, uint64(trimPage); end > oldest; {
		from, before := end-min(end-oldest, page), octets
		r, err := jr.Client.Get(ctx, jr.Layout.Step(zone, from), clientv3.WithRange(jr.Layout.Step(zone, end)))
		if err != nil {
			return "", err
		}
		for _, kv := range slices.Backward(r.Kvs) {
			if octets += len(kv.Value); octets > most {
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

// findUndelivered returns a function that says which steps the Deliveries of a zone need: those that lead to the
// earliest serial of which something may be at a provider, or to a later one; nil: none.
func (jr *Journal) findUndelivered(ctx context.Context, z *v1alpha1.Zone) (func(serial.Serial) bool, error) {
	var earliest serial.Serial
	unread := false
	// The name of a Delivery begins with the zone's, cut where that is long.
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
		if d.Spec.Zone.UID != z.UID {
			return nil
		}
		since := []int64{d.Status.Serial}
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
	case unread:
		return func(serial.Serial) bool { return true }, nil
	case earliest == 0:
		return nil, nil
	}
	return func(at serial.Serial) bool { return !earliest.Ahead(at) }, nil
}

// Steps returns the steps of a zone's journal after the serial since and up to step n, oldest first, and the content
// state at that serial, by which they can be proven. ErrTrimmed: the journal does not reach back so far, or the zone
// never had that serial.
func (jr *Journal) Steps(ctx context.Context, zone string, since serial.Serial, n uint64) (before sethash.State, steps []content.Step,
	err error) {
	return jr.StepsFrom(ctx, zone, since, n, false, 0)
}

// StepsFrom reads the journal and what is condensed of it at one revision, 0 for the present one: of two revisions a
// step could have gone from the one before it has come into the other. At the revision at which the zone stood at
// step n they always fit. all: whatever since is, all steps up to step n, from the oldest serial with a known content
// state, or from the serial at which the zone was made.
func (jr *Journal) StepsFrom(ctx context.Context, zone string, since serial.Serial, n uint64, all bool, rev int64) (sethash.State,
	[]content.Step, error) {
	before, steps, err := jr.journalFrom(ctx, zone, since, n, all, &rev)
	if all || !errors.Is(err, ErrTrimmed) {
		return before, steps, err
	}
	c, _, failed := jr.readCondensed(ctx, zone, &rev)
	if failed != nil || c == nil || c.From != since {
		return before, nil, cmp.Or(failed, err)
	}
	switch after := n - c.Step.N; {
	case c.Step.N > n:
		return before, nil, fmt.Errorf("zone %s has changed too much to read the steps from serial %d to step %d, "+
			"and they are condensed up to step %d; read the zone again", zone, since, n, c.Step.N)
	case after > uint64(len(steps)):
		return before, nil, err
	default:
		steps = steps[uint64(len(steps))-after:]
	}
	first, err := jr.condensedStep(ctx, zone, c, rev)
	if err != nil {
		return before, nil, err
	}
	return c.State, append([]content.Step{first}, steps...), nil
}

// journalFrom is StepsFrom with the journal alone, and returns the revision. With ErrTrimmed it returns those steps
// that it has.
func (jr *Journal) journalFrom(ctx context.Context, zone string, since serial.Serial, n uint64, all bool, rev *int64) (before sethash.State,
	steps []content.Step, err error) {
	trimmed := func() (sethash.State, []content.Step, error) {
		if last := len(steps) - 1; all && last >= 0 {
			// The content before the oldest step is not stored; the content after it is.
			before, steps = steps[last].State, steps[:last]
			slices.Reverse(steps)
			return before, steps, nil
		}
		slices.Reverse(steps)
		return before, steps, fmt.Errorf("zone %s, from serial %d to step %d: %w", zone, since, n, ErrTrimmed)
	}
	// A batch is stored at the last of its steps, so step n may be behind its own key.
	for to, page := clientv3.GetPrefixRangeEnd(jr.Layout.Journal(zone)), uint64(trimPage); ; page *= 2 {
		next := n - uint64(len(steps)) // the step that is wanted next
		from := next - min(next, page)
		r, err := jr.Client.Get(ctx, jr.Layout.Step(zone, from), clientv3.WithRange(to), clientv3.WithRev(*rev))
		if err != nil {
			return before, nil, err
		}
		if *rev == 0 {
			*rev = r.Header.Revision
		}
		for _, kv := range slices.Backward(r.Kvs) {
			tx, err := jr.Made.Read(string(kv.Key), kv.Value)
			if err != nil {
				return before, nil, layout.Unreadable(string(kv.Key), err)
			}
			for _, step := range slices.Backward(tx.Steps) {
				switch {
				case step.N > next:
					continue
				case step.N != next || !all && since.Ahead(step.Serial):
					return trimmed()
				case !all && step.Serial == since, all && step.Creates():
					slices.Reverse(steps)
					return step.State, steps, nil
				}
				steps = append(steps, step)
				next--
			}
		}
		if next >= from { // all that stands behind from was read
			return trimmed()
		}
		to = jr.Layout.Step(zone, from)
	}
}

// ErrTrimmed says that the journal no longer reaches back so far.
var ErrTrimmed = errors.New("the journal no longer reaches back so far")
