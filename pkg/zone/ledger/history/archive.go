// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

// Archive moves steps (changes of a zone's serial) from the journal into segments, the compressed history. Two servers
// may archive a zone at once: each transaction compares the progress, so the second fails and retries.
type Archive struct {
	Client    *clientv3.Client
	Layout    layout.Keys
	Read      func(key string, value []byte) (*content.Transaction, error)
	Retention time.Duration // of Zones without spec.historyRetention
	// Quota returns etcd's size limit in octets. 0, or a nil Quota, means unknown.
	Quota func() int64
	Now   func() time.Time
	Fault func(point string) // for tests

	// level bounds the octets of each namespace while all together exceed the limit. 0 is no bound (share.go).
	level atomic.Int64
	// charges counts, by namespace, the accounts and octets of steps that it caused in other namespaces.
	charges     atomic.Pointer[map[string]charge]
	addedOctets atomic.Int64 // archived since level was computed
	levelledAt  atomic.Int64 // Unix time when level was computed
	levelMutex  sync.Mutex   // held to compute level
}

const (
	// A transaction archives a page: about pageSteps steps of up to pageNamespaces namespaces, each with up to four of
	// etcd's 128 operations.
	pageSteps      = 64
	pageNamespaces = 24
	// maxPage bounds the octets of a page, except of a single step. A namespace's part is also at most a pageDivisor-th
	// of the share, or minPage, because makeRoom strips whole segments.
	maxPage     = 4 << 20
	minPage     = 16 << 10
	pageDivisor = 8
)

const DefaultRetention = 168 * time.Hour

// Archived records up to which step a zone is archived: moved from the journal into history segments. The key is
// archived/<uid>/.
type Archived struct {
	// Last is the last archived step's number: Offset plus N in the journal. A zone that ended and came back has the
	// same UID, but counts N from 1 again, and Offset is the last number before.
	Last      uint64        `json:"n"`
	Offset    uint64        `json:"o,omitempty"`
	Whole     int64         `json:"t"`           // a Unix time; no step since then is missing
	Retention int64         `json:"k"`           // of the last archived step, in seconds
	Gone      int64         `json:"g,omitempty"` // Unix time of the zone's removal, 0 if the zone exists
	Serial    serial.Serial `json:"s,omitzero"`  // the last serial of a removed zone
}

// Before holds the former Records of a journal value's steps, under a key of before/.
type Before struct {
	// Time is the time of the last step, in Unix seconds.
	Time int64        `json:"t"`
	Of   []BeforeStep `json:"b"`
}

type BeforeStep struct {
	N     uint64 `json:"n"`
	Name  string `json:"r"`
	UID   string `json:"u"`
	State []byte `json:"s"`
}

// RetentionOf returns how long a zone's steps are kept.
func RetentionOf(z *v1alpha1.Zone, defaultRetention time.Duration) time.Duration {
	if z != nil && z.Spec.HistoryRetention != nil {
		return z.Spec.HistoryRetention.Duration
	}
	return defaultRetention
}

func (a *Archive) HeaderOf(z *v1alpha1.Zone) Header {
	return Header{Zone: string(z.UID), View: z.Status.View, FQDN: z.Status.FQDN, Namespace: z.Namespace, Name: z.Name,
		Retention: int64(RetentionOf(z, a.Retention).Seconds())}
}

// ArchiveSteps copies a zone's journal steps (changes) up to number upTo into the history, before a trim deletes them.
// It returns true if the history has all these steps, perhaps from other servers. It returns false if a compare of cmps
// failed, or other servers changed the archive at each try. Then the steps must stay in the journal.
func (a *Archive) ArchiveSteps(ctx context.Context, header Header, upTo uint64, cmps ...clientv3.Cmp) (kept bool, err error) {
	end := a.Layout.Step(header.Zone, upTo) + "\x00"

	// Each transaction copies a page. If a compare fails, read the page again.
	for lost := 0; lost < maxLostRaces; {
		p, err := a.readPage(ctx, header, end, nil)
		if err != nil || len(p.entries) == 0 { // nothing left
			return err == nil, err
		}
		written, err := a.writePage(ctx, p, cmps...)
		if err != nil || written && p.lastN >= upTo {
			return err == nil, err
		}
		if !written {
			lost++
		}
	}
	return false, nil
}

const maxLostRaces = 4

// ArchiveRemoved is like ArchiveSteps, for all steps of a zone without a name, and for its removal.
func (a *Archive) ArchiveRemoved(ctx context.Context, zone string, cmps ...clientv3.Cmp) (kept bool, err error) {
	// The removal is among the last keys of the journal, perhaps beside a mark of Settled.
	journal := a.Layout.Journal(zone)
	end := clientv3.GetPrefixRangeEnd(journal)
	last, err := a.Client.Get(ctx, journal, clientv3.WithRange(end), clientv3.WithLimit(3),
		clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend))
	if err != nil {
		return false, err
	}

	var removal *content.Removal
	for _, kv := range last.Kvs {
		if tx, err := a.Read(string(kv.Key), kv.Value); err == nil && tx.Removal != nil {
			removal = tx.Removal
			break
		}
	}

	if removal == nil {
		return true, nil // archived, or removed by an older kubizone
	}
	header := Header{Zone: zone, View: removal.View, FQDN: removal.FQDN.String(), Namespace: removal.Namespace, Name: removal.Name,
		Retention: removal.Retention}
	// First come the remaining steps, page by page, then the removal alone.
	for lost := 0; lost < maxLostRaces; {
		p, err := a.readPage(ctx, header, end, removal)
		if err != nil || p == nil { // another server has archived the removal
			return err == nil, err
		}
		// No step is left, so this transaction archives the removal.
		ends := len(p.entries) == 0
		if ends {
			if err := a.addRemoval(ctx, p, removal); err != nil {
				return false, err
			}
		}

		done, err := a.writePage(ctx, p, cmps...)
		if err != nil || done && ends {
			return err == nil, err
		}
		if !done {
			lost++
		}
	}

	return false, nil
}

type page struct {
	hdr         Header
	archived    Archived
	archivedMod int64
	entries     map[string][]Entry // by account
	hasStates   map[string]bool    // by namespace, in before/
	lastN       uint64
	endN        uint64 // last step of the journal value with step lastN
	removes     bool   // the zone's removal is the last step
}

// readArchived returns a zone's progress and the version of its key, both zero if nothing is archived. rev 0 reads the
// present.
func (a *Archive) readArchived(ctx context.Context, zone string, rev int64) (x Archived, mod int64, err error) {
	key := a.Layout.Archived(zone)
	r, err := a.Client.Get(ctx, key, clientv3.WithRev(rev))
	if err != nil || len(r.Kvs) == 0 {
		return x, 0, err
	}
	if err := layout.Decode(r.Kvs[0].Value, &x); err != nil {
		return x, 0, layout.Unreadable(key, err)
	}
	return x, r.Kvs[0].ModRevision, nil
}

// readPage reads the next steps of the journal before the key end, or returns nil if removal is archived. An unreadable
// value raises Whole of the archive.
func (a *Archive) readPage(ctx context.Context, header Header, end string, removal *content.Removal) (*page, error) {
	p := &page{hdr: header, entries: map[string][]Entry{}, hasStates: map[string]bool{}}
	var err error
	if p.archived, p.archivedMod, err = a.readArchived(ctx, header.Zone, 0); err != nil {
		return nil, err
	}

	// Gone is set after a removal. The same serial means the same removal, another serial that the zone came back.
	switch {
	case p.archived.Gone == 0:
	case removal != nil && p.archived.Serial == removal.Serial:
		return nil, nil
	default: // the zone came back
		p.archived.Offset, p.archived.Gone, p.archived.Serial = p.archived.Last, 0, 0
	}
	p.hdr.Offset = p.archived.Offset
	p.lastN = p.archived.Last - p.archived.Offset
	r, err := a.Client.Get(ctx, a.Layout.Step(header.Zone, p.lastN+1), clientv3.WithRange(end), clientv3.WithLimit(pageSteps))
	if err != nil {
		return nil, err
	}

	// Take whole steps, up to the limits of a page. A value may be taken in part.
	octets, taken := 0, 0
	for _, kv := range r.Kvs {
		if octets += len(kv.Value); taken > 0 && (octets > fullSegment || taken >= pageSteps) {
			break
		}
		tx, err := a.Read(string(kv.Key), kv.Value)
		if err != nil {
			klog.FromContext(ctx).Error(layout.Unreadable(string(kv.Key), err), "The history of a zone has a gap", "zone", header.FQDN)
			p.archived.Whole = a.Now().Unix()
			continue
		}

		for _, step := range tx.Steps {
			// All states of a journal value have one key, deleted by the page with the last step.
			ns := namespaceOf(&step, p.hdr.Namespace)
			p.hasStates[ns] = p.hasStates[ns] || hasState(&step)
			if p.endN = tx.Steps[len(tx.Steps)-1].N; step.N > p.lastN {
				if !p.addStep(step) {
					// The page is full. The rest of the value comes with the next page.
					return p, a.addStates(ctx, p)
				}
				taken++
			}
		}
	}

	return p, a.addStates(ctx, p)
}

// addStep returns false if the page is full.
func (p *page) addStep(step content.Step) bool {
	account := accountOf(&step, p.hdr.Namespace)
	// Each account costs operations of the transaction.
	if p.entries[account] == nil && len(p.entries) == pageNamespaces {
		return false
	}
	if len(p.entries) == 0 && step.N != p.lastN+1 {
		p.archived.Whole = max(p.archived.Whole, step.Time) // the steps before were trimmed without an archive
	}
	p.lastN, step.State = step.N, sethash.State{} // the hash follows from the content, and does not compress
	p.entries[account] = append(p.entries[account], Entry{Step: step})
	return true
}

// namespaceOf returns the namespace of the changed Record, or the zone's if the zone changed without a Record.
func namespaceOf(step *content.Step, zones string) string {
	if step.Record != nil {
		return step.Record.Namespace
	}
	return zones
}

func accountOf(step *content.Step, zones string) string {
	return layout.Account(namespaceOf(step, zones), step.CausedBy)
}

// hasState reports whether before/ may hold former Records of the step.
func hasState(step *content.Step) bool {
	return step.Record != nil && (step.Record.Was || slices.ContainsFunc(step.Others, func(o content.RecordRef) bool { return o.Was }))
}

// addStates adds the former Records to the page's steps, and shortens the page if it becomes too large.
func (a *Archive) addStates(ctx context.Context, p *page) error {
	states, steps := map[string]map[uint64][]BeforeStep{}, []*Entry{}
	for _, entries := range p.entries {
		for i := range entries {
			steps = append(steps, &entries[i])
		}
	}

	// Read the states of each namespace up to the end of the last value.
	for ns, has := range p.hasStates {
		if !has {
			continue
		}
		r, err := a.Client.Get(ctx, a.Layout.BeforeOf(ns, p.hdr.Zone), clientv3.WithRange(a.Layout.Before(ns, p.hdr.Zone, p.endN)+"\x00"))
		if err != nil {
			return err
		}
		states[ns] = readStates(ctx, r.Kvs)
	}

	// Count octets in the order of the steps, so that the page ends before a step and has no gap.
	slices.SortFunc(steps, func(x, y *Entry) int { return cmp.Compare(x.Step.N, y.Step.N) })
	total, byAccount := 0, map[string]int{}
	for i, x := range steps {
		account := accountOf(&x.Step, p.hdr.Namespace)
		var err error
		if x.Was, err = unpackStates(states[namespaceOf(&x.Step, p.hdr.Namespace)][x.Step.N]); err != nil {
			klog.FromContext(ctx).Error(err, "The history of a zone lacks a state", "zone", p.hdr.FQDN, "step", x.Step.N)
			p.archived.Whole = a.Now().Unix()
		}
		octets := len(layout.Encode(x))
		// A first step of any size is taken, or the archive would never go on.
		most := max(octets, minPage, int(a.shareOf(account)/pageDivisor))
		if total, byAccount[account] = total+octets, byAccount[account]+octets; i > 0 && total > maxPage || byAccount[account] > most {
			p.endBefore(x.Step.N)
			break
		}
	}

	return nil
}

// endBefore removes step n and later steps from the page. An account without steps leaves the page.
func (p *page) endBefore(n uint64) {
	p.lastN = n - 1
	for account, entries := range p.entries {
		if p.entries[account] = slices.DeleteFunc(entries, func(x Entry) bool { return x.Step.N >= n }); len(p.entries[account]) == 0 {
			delete(p.entries, account)
		}
	}
}

// unpackStates returns the states that unpack, and an error for others.
func unpackStates(of []BeforeStep) (out []Was, err error) {
	for _, x := range of {
		text, damage := Unpack(x.State)
		if damage != nil {
			err = errors.Join(err, fmt.Errorf("record %s: %w", x.Name, damage))
			continue
		}
		out = append(out, Was{Name: x.Name, UID: x.UID, State: text})
	}
	return out, err
}

func countStates(of []Was) (octets int) {
	for i := range of {
		octets += len(of[i].Name) + len(of[i].UID) + len(of[i].State)
	}
	return octets
}

// readStates returns the former Records of values of before/, by step. An unreadable value is logged, and its steps
// lack states.
func readStates(ctx context.Context, values []*mvccpb.KeyValue) map[uint64][]BeforeStep {
	out := map[uint64][]BeforeStep{}
	for _, kv := range values {
		var b Before
		if err := layout.Decode(kv.Value, &b); err != nil {
			klog.FromContext(ctx).Error(layout.Unreadable(string(kv.Key), err), "The history of a zone lacks a state")
			continue
		}
		for _, x := range b.Of {
			out[x.N] = append(out[x.N], x)
		}
	}
	return out
}

// addRemoval adds the zone's removal as the last step of the page, with the Delegations that left together with the
// zone.
func (a *Archive) addRemoval(ctx context.Context, p *page, x *content.Removal) (err error) {
	p.lastN++
	p.removes = true
	// Gone must differ from 0, even if the removal's time is unknown.
	p.archived.Gone, p.archived.Serial = max(1, x.Time), x.Serial
	// Delegations serve to restore the Zone, and without its state restore nothing.
	e := entryOfRemoval(p.hdr.Zone, p.lastN, x)
	if len(x.State) > 0 {
		whole := false
		e.Removed.Delegations, whole, err = a.readOldDelegations(ctx, p.hdr.Zone, x)
		e.Removed.LeftOut = !whole
	}
	p.entries[p.hdr.Namespace] = append(p.entries[p.hdr.Namespace], e)
	return err
}

// writePage commits a page in one transaction, together with the caller's compares. If done is false, a compare failed:
// another server has archived, or shrunk a share.
func (a *Archive) writePage(ctx context.Context, p *page, cmps ...clientv3.Cmp) (done bool, err error) {
	// 1. The zone's progress, compared with the version that readPage saw.
	next := p.archived
	next.Last, next.Retention = next.Offset+p.lastN, p.hdr.Retention
	for _, entries := range p.entries {
		// With a retention of 0s, steps are dropped without a segment.
		if p.hdr.Retention == 0 {
			next.Whole = max(next.Whole, entries[len(entries)-1].Step.Time+1)
		}
	}

	key := a.Layout.Archived(p.hdr.Zone)
	cmps = append(slices.Clone(cmps), etcd.RevisionIs(key, p.archivedMod))
	ops, octets := []clientv3.Op{etcd.OpPut(key, layout.Encode(&next))}, 0

	// 2. The former Records, which move into the segments.
	for ns, has := range p.hasStates {
		if has {
			ops = append(ops, clientv3.OpDelete(a.Layout.BeforeOf(ns, p.hdr.Zone),
				clientv3.WithRange(a.Layout.Before(ns, p.hdr.Zone, p.lastN)+"\x00")))
		}
	}

	shares, err := a.readSharesOf(ctx, slices.Collect(maps.Keys(p.entries)))
	if err != nil {
		return false, err
	}

	// 3. A segment for each account, counted in the account's share.
	for account, entries := range p.entries {
		if p.hdr.Retention == 0 {
			break
		}
		value, whole := encodeSegment(&p.hdr, entries)
		last := &entries[len(entries)-1].Step
		at := a.Layout.Segment(layout.SegmentKey{Account: account, Zone: p.hdr.Zone, Time: last.Time, Last: next.Offset + last.N})
		share, fits := shares[account], shares[account].Octets+int64(len(at)+len(value)) <= a.shareOf(account)
		if !fits {
			if share.Share, share.mod, fits, err = a.makeRoom(ctx, account, len(at)+len(value)); err != nil {
				return false, err
			}
		}
		// The account is not whole if values were left out, or there is no room for the segment.
		if !whole || !fits {
			share.Whole = max(share.Whole, last.Time+1)
		}
		if cmps = append(cmps, etcd.RevisionIs(a.Layout.Share(account), share.mod)); fits && value != nil {
			octets += len(at) + len(value)
			share.addSegment(at, int64(len(at)+len(value)), !whole && isBare(value))
			// The empty value names the account, so that readers of the zone know where to look.
			ops = append(ops, etcd.OpPut(at, value), etcd.OpPut(a.Layout.ArchivedFor(p.hdr.Zone, account), []byte("{}")))
		}

		ops = append(ops, etcd.OpPut(a.Layout.Share(account), layout.Encode(&share.Share)))
	}

	// 4. After the removal, the keys that find the zone by its former names.
	if p.removes {
		ops = append(append(ops, a.nameOps(&p.hdr)...), clientv3.OpDelete(a.Layout.LeftDelegations(p.hdr.Zone), clientv3.WithPrefix()))
	}
	a.Fault("archive")
	r, err := a.Client.Txn(ctx).If(cmps...).Then(ops...).Commit()
	if err != nil || !r.Succeeded {
		return false, err
	}
	a.refreshLevel(ctx, int64(octets))
	return true, nil
}

// FindRemoved returns the header of the last removed Zone object with a name, or nil, and the Unix time of the removal.
func (a *Archive) FindRemoved(ctx context.Context, namespace, object string) (header *Header, gone int64, err error) {
	r, err := a.Client.Get(ctx, a.Layout.ArchivedName(namespace, object))
	if err != nil || len(r.Kvs) == 0 {
		return nil, 0, err
	}
	return a.readRemoved(ctx, r.Kvs[0])
}

// FindRemovedFQDN is like FindRemoved, for a DNS name. An empty namespace means all.
func (a *Archive) FindRemovedFQDN(ctx context.Context, namespace, fqdn string) (header *Header, gone int64, err error) {
	r, err := a.Client.Get(ctx, a.Layout.ArchivedFQDNs(fqdn, namespace), clientv3.WithPrefix(), clientv3.WithLimit(maxRemoved))
	if err != nil || len(r.Kvs) == 0 {
		return nil, 0, err
	}
	return a.readRemoved(ctx, slices.MaxFunc(r.Kvs, func(x, y *mvccpb.KeyValue) int { return cmp.Compare(x.ModRevision, y.ModRevision) }))
}

func (a *Archive) readRemoved(ctx context.Context, kv *mvccpb.KeyValue) (header *Header, gone int64, err error) {
	header = &Header{}
	if err := layout.Decode(kv.Value, header); err != nil {
		return nil, 0, layout.Unreadable(string(kv.Key), err)
	}
	archived, _, err := a.readArchived(ctx, header.Zone, 0)
	return header, archived.Gone, err
}
