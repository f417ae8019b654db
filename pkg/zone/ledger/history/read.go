// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

type Item struct {
	Header
	Entry
	// Number is the step's number in the zone's archive.
	Number uint64
}

// Answer is a page of the history, newest step first.
type Answer struct {
	Items []Item
	// Whole is a Unix time. No step since then is missing or bare (without values).
	Whole int64
	// Own is like Whole, for steps of the Zone's own namespace. Only OfZone sets it.
	Own int64
	// Next is Ask.From for the next page, or "" at the end.
	Next string

	read int // octets of text that the answer has read, selected or not
}

type Ask struct {
	// From is Answer.Next of the page before, or "" for the first page.
	From string
	// Limit is the number of items. Pages of a namespace may be longer, since they end with a whole segment.
	Limit int
	// Since reports whether an item is recent enough. The answer ends at the first that is not.
	Since func(*Item) bool
	// NotBefore is the Unix time of the oldest item to return, and the least Answer.Whole.
	NotBefore int64
}

// OfZone returns a page of a zone's steps, newest first. The flag exists is false if the zone has no name now.
func (a *Archive) OfZone(ctx context.Context, header Header, exists bool, ask Ask) (*Answer, error) {
	r, err := a.Client.Get(ctx, a.Layout.Archived(header.Zone), clientv3.WithPrefix())
	if err != nil {
		return nil, err
	}
	rev, out := r.Header.Revision, &Answer{}
	before := ^uint64(0)
	if ask.From != "" {
		if before, err = parseNumber(ask.From); err != nil {
			return nil, err
		}
	}

	// 1. Find the accounts with segments of the zone, and how far the zone is archived.
	var archived Archived
	var namespaces []string
	for _, kv := range r.Kvs {
		_, ns, _ := a.Layout.ParseArchived(string(kv.Key))
		if strings.HasPrefix(ns, layout.LeftDelegations) {
			continue
		}
		if ns != "" {
			namespaces = append(namespaces, ns)
		} else if err := layout.Decode(kv.Value, &archived); err != nil {
			return nil, layout.Unreadable(string(kv.Key), err)
		}
	}

	out.Whole = archived.Whole
	octets := 0
	take := func(x *Item) bool {
		if len(out.Items) == ask.Limit || octets > maxAnswer {
			// The token names the last step given. The next page takes smaller numbers.
			out.Next = formatNumber(out.Items[len(out.Items)-1].Number)
			return false
		}
		if ask.Since != nil && !ask.Since(x) {
			return false
		}
		octets += x.countOctets()
		out.Items = append(out.Items, *x)
		return true
	}

	// 2. Take the steps of the journal, newest first.
	var recent []Item
	if exists || archived.Gone == 0 { // else the journal is archived, and not yet purged
		room := maxAnswer
		isNext := func(x *Item) bool { return x.Number < before }
		if recent, err = a.readRecent(ctx, header, archived, isNext, &room, out, rev); err != nil {
			return nil, err
		}
	}

	for _, x := range slices.Backward(recent) {
		if !take(&x) {
			return out, a.wholeOf(ctx, out, header.Namespace, namespaces, rev)
		}
	}

	// 3. Take archived steps, merged from all accounts by number.
	older, err := a.openSegments(ctx, header.Zone, namespaces, before, rev, out)
	if err != nil {
		return nil, err
	}

	for {
		x, err := older.readNext(ctx)
		if err != nil {
			return nil, err
		}
		if x == nil || !take(x) {
			return out, a.wholeOf(ctx, out, header.Namespace, namespaces, rev)
		}
	}
}

// wholeOf raises out.Whole, which so far knows losses of the whole zone, by the losses of each account, and sets
// out.Own by those of the Zone's own namespace alone: steps that others lose say nothing about own ones.
func (a *Archive) wholeOf(ctx context.Context, out *Answer, own string, namespaces []string, rev int64) error {
	out.Own = out.Whole
	for _, ns := range namespaces {
		r, err := a.Client.Get(ctx, a.Layout.Share(ns), clientv3.WithRev(rev))
		if err != nil {
			return err
		}
		var s Share
		if len(r.Kvs) > 0 && layout.Decode(r.Kvs[0].Value, &s) == nil {
			out.Whole = max(out.Whole, s.Whole)
			if ns == own {
				out.Own = max(out.Own, s.Whole)
			}
		}
	}
	return nil
}

// readRecent returns the journal's steps not archived yet, oldest first, if selected by takes. Their octets are
// subtracted from *room. The oldest steps, without room, lack rows and states. Damage raises out.Whole.
func (a *Archive) readRecent(ctx context.Context, header Header, archived Archived, takes func(*Item) bool, room *int, out *Answer,
	rev int64) ([]Item, error) {
	header.Offset = archived.Offset
	// A zone that came back counts from 1 again, while its archive still ends with the removal.
	if archived.Gone != 0 {
		header.Offset = archived.Last
	}

	// Read the steps behind the archive.
	lastN := archived.Last - min(header.Offset, archived.Last)
	steps, gap := []Item{}, false
	visit := func(kv *mvccpb.KeyValue) error {
		out.read += len(kv.Value)
		tx, err := a.Read(string(kv.Key), kv.Value)
		if err != nil {
			klog.FromContext(ctx).Error(layout.Unreadable(string(kv.Key), err), "The history of a zone has a gap", "zone", header.FQDN)
			// The answer is whole only after the next readable step.
			gap = true
			return nil
		}

		for _, step := range tx.Steps {
			if gap {
				out.Whole, gap = max(out.Whole, step.Time+1), false
			}
			x := Item{Header: header, Entry: Entry{Step: step}, Number: header.Offset + step.N}
			if step.N > lastN && takes(&x) {
				steps = append(steps, x)
			}
		}
		return nil
	}
	_, err := etcd.Scan(ctx, a.Client, a.Layout.Journal(header.Zone), a.Layout.Step(header.Zone, lastN+1), 0, visit,
		clientv3.WithRev(rev), clientv3.WithLimit(pageSteps))
	if err != nil {
		return nil, err
	}

	// The newest value is unreadable: nothing up to now is certain.
	if gap {
		out.Whole = max(out.Whole, a.Now().Unix())
	}

	// Add the former Records, for the newest steps first, until the room is used.
	states := map[string]map[uint64][]BeforeStep{}
	for i := range slices.Backward(steps) {
		x := &steps[i]
		if *room < 0 {
			// The user and the changed names still fit, and tell which values are hidden.
			x.Step, x.Bare = bareStep(&x.Step), true
			continue
		}

		ns := namespaceOf(&x.Step, header.Namespace)
		// Each namespace has its own keys under before/, read once for all its steps.
		if states[ns] == nil {
			r, err := a.Client.Get(ctx, a.Layout.BeforeOf(ns, header.Zone), clientv3.WithPrefix(), clientv3.WithRev(rev))
			if err != nil {
				return nil, err
			}
			states[ns] = readStates(ctx, r.Kvs)
		}

		x.Was, _ = unpackStates(states[ns][x.Step.N]) // the archive logs the damage
		*room -= x.countOctets()
	}

	return steps, nil
}

// maxAnswer bounds an answer's rows and states, in octets, except of the last step or segment.
const maxAnswer = 8 << 20

type segments struct {
	a           *Archive
	out         *Answer
	rev         int64
	byNamespace []*namespaceSegments
	before      uint64 // only smaller numbers are returned
}

type namespaceSegments struct {
	keys  []layout.SegmentKey // not yet read, by Last; the newest is read next
	items []Item              // of the last segment read, the newest last
}

// next returns the number of the next item, or of the last step of the next segment, or 0 at the end.
func (x *namespaceSegments) next() uint64 {
	if n := len(x.items); n > 0 {
		return x.items[n-1].Number
	}
	if n := len(x.keys); n > 0 {
		return x.keys[n-1].Last
	}
	return 0
}

// openSegments lists the zone's segments of each account, for steps with numbers below before.
func (a *Archive) openSegments(ctx context.Context, zone string, namespaces []string, before uint64, rev int64,
	answer *Answer) (*segments, error) {
	out := &segments{a: a, out: answer, rev: rev, before: before}
	for _, ns := range namespaces {
		keys, err := a.listSegments(ctx, ns, rev, func(k layout.SegmentKey) bool { return k.Zone == zone })
		if err != nil {
			return nil, err
		}
		slices.SortFunc(keys, func(x, y layout.SegmentKey) int { return cmp.Compare(x.Last, y.Last) })
		// A segment begins after the last step of the segment before. So the first with step before-1 or later is the
		// last that has steps for this page.
		if i := slices.IndexFunc(keys, func(k layout.SegmentKey) bool { return k.Last >= before-1 }); i >= 0 {
			keys = keys[:i+1]
		}
		out.byNamespace = append(out.byNamespace, &namespaceSegments{keys: keys})
	}
	return out, nil
}

// listSegments returns the keys of an account's segments that takes selects, oldest first. rev 0 reads the present.
func (a *Archive) listSegments(ctx context.Context, namespace string, rev int64, takes func(layout.SegmentKey) bool) (
	out []layout.SegmentKey, err error) {
	_, err = etcd.Scan(ctx, a.Client, a.Layout.Segments(namespace), "", 0, func(kv *mvccpb.KeyValue) error {
		if k, ok := a.Layout.ParseSegment(string(kv.Key)); ok && takes(k) {
			out = append(out, k)
		}
		return nil
	}, clientv3.WithRev(rev), clientv3.WithKeysOnly())
	return out, err
}

// readNext returns the item with the greatest number below s.before, or nil at the end.
func (s *segments) readNext(ctx context.Context) (*Item, error) {
	for {
		// Choose the account whose next item, or next segment, has the greatest number.
		s.byNamespace = slices.DeleteFunc(s.byNamespace, func(x *namespaceSegments) bool { return x.next() == 0 })
		if len(s.byNamespace) == 0 {
			return nil, nil
		}
		newest := slices.MaxFunc(s.byNamespace, func(x, y *namespaceSegments) int { return cmp.Compare(x.next(), y.next()) })

		// An item of a segment that reaches beyond the page's beginning may be too new.
		if n := len(newest.items); n > 0 {
			x := newest.items[n-1]
			if newest.items = newest.items[:n-1]; x.Number < s.before {
				return &x, nil
			}
			continue
		}

		// The segment's last number was the greatest. Its items compete from now on.
		k := newest.keys[len(newest.keys)-1]
		newest.keys = newest.keys[:len(newest.keys)-1]
		items, err := s.a.readSegment(ctx, k, s.out, s.rev)
		if err != nil {
			return nil, err
		}

		newest.items = items
	}
}

// readSegment returns the items of a segment, oldest first. A segment that is gone gives nil, and a damaged segment
// raises out.Whole. out.read counts the octets of text.
func (a *Archive) readSegment(ctx context.Context, k layout.SegmentKey, out *Answer, rev int64) ([]Item, error) {
	key := a.Layout.Segment(k)
	r, err := a.Client.Get(ctx, key, clientv3.WithRev(rev))
	if err != nil || len(r.Kvs) == 0 {
		return nil, err
	}
	s, err := DecodeSegment(r.Kvs[0].Value)
	if err == nil {
		out.read += s.octets
	}
	if err != nil {
		klog.FromContext(ctx).Error(layout.Unreadable(key, err), "The history of a zone has a gap")
		out.Whole = max(out.Whole, k.Time+1)
		return nil, nil
	}
	var items []Item
	for _, e := range s.Entries {
		items = append(items, Item{Header: s.Header, Entry: e, Number: s.Header.Offset + e.Step.N})
	}
	return items, nil
}

const maxTime = 1<<40 - 1

// A continue token is a step's number for a zone, a segment's key for a namespace.
func formatNumber(n uint64) string { return strconv.FormatUint(n, 36) }

func parseNumber(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 36, 64)
	if err != nil {
		return 0, ErrPlace
	}
	return n, nil
}

func formatPlace(k layout.SegmentKey) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%x/%s/%x", k.Time, k.Zone, k.Last))
}

// parsePlace returns the segment key, without account, of a continue token for a namespace. Any other text is ErrPlace.
func parsePlace(text string) (k layout.SegmentKey, err error) {
	plain, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return k, ErrPlace
	}
	parts := strings.Split(string(plain), "/")
	if len(parts) != 3 {
		return k, ErrPlace
	}
	at, err := strconv.ParseInt(parts[0], 16, 64)
	last, err2 := strconv.ParseUint(parts[2], 16, 64)
	if err != nil || err2 != nil || at < 0 || at > maxTime {
		return k, ErrPlace
	}
	return layout.SegmentKey{Time: at, Zone: parts[1], Last: last}, nil
}

var ErrPlace = errors.New("it is no continue token of an answer")
