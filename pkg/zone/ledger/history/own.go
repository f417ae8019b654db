// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

const maxStates = 2000

// StepSelector selects steps (changes of zones) made by a namespace's Records, in any zone.
type StepSelector struct {
	Namespace string
	// Zones are the UIDs of zones to search for steps not archived yet. Zones that store a former Record of the
	// namespace (before/) need not be listed.
	Zones       []string
	SelectsZone func(*Header) bool              // selects zones by name and namespace
	Selects     func(*Item) bool                // selects single steps
	HeaderOf    func(uid string) (Header, bool) // of an existing zone, otherwise false
}

type namespaceAnswer struct {
	*Answer
	selector StepSelector
	ask      Ask
	rev      int64
	octets   int
	zones    map[string]bool
	began    time.Time
}

// OfNamespace returns a page of the zone changes by a namespace's Records, newest first. None is missing since
// Answer.Whole.
func (a *Archive) OfNamespace(ctx context.Context, wanted StepSelector, ask Ask) (*Answer, error) {
	r, err := a.Client.Get(ctx, a.Layout.Share(wanted.Namespace))
	if err != nil {
		return nil, err
	}
	out := &namespaceAnswer{Answer: &Answer{}, selector: wanted, ask: ask, rev: r.Header.Revision, zones: map[string]bool{},
		began: time.Now()}
	if ask.Since == nil {
		out.ask.Since = func(*Item) bool { return true }
	}
	var share Share
	if len(r.Kvs) > 0 && layout.Decode(r.Kvs[0].Value, &share) == nil {
		out.Whole = share.Whole
	}

	out.selector.Zones = slices.DeleteFunc(slices.Clone(wanted.Zones), out.excludes)

	for _, uid := range out.selector.Zones {
		out.zones[uid] = true
	}
	// Without a token, the page begins with the journals. Later pages begin at a segment, older than all of these.
	before := layout.SegmentKey{Time: maxTime}
	if ask.From == "" {
		if err = a.addRecentSteps(ctx, out); err != nil {
			return nil, err
		}
	} else if before, err = parsePlace(ask.From); err != nil {
		return nil, err
	}
	if err := a.readOlder(ctx, out, before); err != nil {
		return nil, err
	}

	// Journals were read zone by zone, but the answer is newest first.
	slices.SortStableFunc(out.Items, func(x, y Item) int { return cmp.Compare(y.Step.Time, x.Step.Time) })
	return out.Answer, a.wholeOfZones(ctx, out)
}

func (o *namespaceAnswer) excludes(zone string) bool {
	header, ok := o.selector.HeaderOf(zone)
	return ok && !o.selector.SelectsZone(&header)
}

// selectItem reports whether an item belongs to the answer: a change by a Record of the namespace, within the retention
// of its zone. It notes the zone for wholeOfZones.
func (o *namespaceAnswer) selectItem(x *Item, now int64) bool {
	r := x.Step.Record
	isOurs := r != nil && r.Namespace == o.selector.Namespace
	if !isOurs || !o.selector.SelectsZone(&x.Header) || !o.selector.Selects(x) {
		return false
	}
	o.zones[x.Zone] = true
	oldest := max(now-o.retentionOf(x.Zone, x.Retention), o.ask.NotBefore)
	return x.Step.Time >= oldest && o.ask.Since(x)
}

// retentionOf returns the present retention of a zone, or the archived one of a zone that is gone.
func (o *namespaceAnswer) retentionOf(zone string, archived int64) int64 {
	if header, ok := o.selector.HeaderOf(zone); ok {
		return header.Retention
	}
	return archived
}

// readOlder adds archived steps, newest segment first, until the page is full or older steps are too old. It sets
// out.Next if the page ends early.
func (a *Archive) readOlder(ctx context.Context, out *namespaceAnswer, before layout.SegmentKey) error {
	accounts, err := a.accountsOf(ctx, out)
	if err != nil {
		return err
	}
	older, err := a.openCursors(ctx, accounts, before, out.rev)
	if err != nil {
		return err
	}

	now := a.Now().Unix()
	for keys := 0; ; keys++ {
		k, err := older.nextKey(ctx)
		if err != nil || k == nil || k.Time < out.ask.NotBefore {
			return err
		}
		// A page reads a key or more, so that the next page goes on from another place.
		isSpent := out.read > maxRead || keys > 0 && time.Since(out.began) > maxReading
		if len(out.Items) >= out.ask.Limit || out.octets > maxAnswer || isSpent {
			out.Next = formatPlace(before)
			return nil
		}

		before = *k
		// The name of the key's zone and its retention exclude a segment without reading its value.
		if header, ok := out.selector.HeaderOf(k.Zone); ok && (k.Time < now-header.Retention || !out.selector.SelectsZone(&header)) {
			continue
		}
		items, err := a.readSegment(ctx, *k, out.Answer, out.rev)
		if err != nil {
			return err
		}
		// A segment without items is damaged or gone, and says nothing about the age of older segments.
		fresh := len(items) == 0
		for _, x := range slices.Backward(items) {
			fresh = fresh || out.ask.Since(&x)
			if out.selectItem(&x, now) {
				out.octets += x.countOctets()
				out.Items = append(out.Items, x)
			}
		}

		if !fresh { // older segments have no step for Since, either
			return nil
		}
	}
}

// accountsOf returns the namespace's own account and those for steps caused by other namespaces, at most maxAccounts of
// the latter. If there are more, nothing is certain to be whole.
func (a *Archive) accountsOf(ctx context.Context, out *namespaceAnswer) ([]string, error) {
	shares := a.Layout.Share("")
	r, err := a.Client.Get(ctx, a.Layout.Share(out.selector.Namespace+"@"), clientv3.WithPrefix(), clientv3.WithLimit(maxAccounts),
		clientv3.WithRev(out.rev), clientv3.WithKeysOnly())
	if err != nil {
		return nil, err
	}
	accounts := []string{out.selector.Namespace}
	for _, kv := range r.Kvs {
		accounts = append(accounts, strings.TrimPrefix(string(kv.Key), shares))
	}
	if r.More {
		out.Whole = a.Now().Unix()
	}
	return accounts, nil
}

const maxAccounts = 128

// wholeOfZones raises out.Whole to the time since which all zones of the answer have all steps.
func (a *Archive) wholeOfZones(ctx context.Context, out *namespaceAnswer) error {
	now, usual := a.Now().Unix(), int64(a.Retention.Seconds())
	for uid := range out.zones {
		// The present retention counts, then that of the archive, then the usual one.
		retention := usual
		archived, mod, err := a.readArchived(ctx, uid, out.rev)
		if err != nil {
			return err
		}
		if mod > 0 {
			retention = archived.Retention
		}
		out.Whole = max(out.Whole, archived.Whole, now-out.retentionOf(uid, retention))
	}
	// A namespace without any zone here gets the usual retention, not the beginning of time.
	if len(out.zones) == 0 {
		out.Whole = max(out.Whole, now-usual)
	}
	return nil
}

// An answer reads at most maxRead octets of text and a further segment, for maxReading: it may then be empty, with a
// token for the next page. The journals of the first page have at most maxJournals octets.
const (
	maxRead     = 8 << 20
	maxReading  = time.Second
	maxJournals = 32 << 20
	maxZones    = 256
)

// addRecentSteps adds the namespace's steps that are still in journals, from the given zones and all zones with a
// former Record of the namespace. Too many zones or octets are a BadRequest that tells how to ask for less.
func (a *Archive) addRecentSteps(ctx context.Context, out *namespaceAnswer) error {
	// A zone may have former Records of the namespace but no present one, after a deletion.
	prefix := a.Layout.Room("before") + out.selector.Namespace + "/"
	r, err := a.Client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithLimit(maxStates), clientv3.WithRev(out.rev),
		clientv3.WithKeysOnly())
	if err != nil {
		return err
	}

	if r.More { // further zones may have steps
		out.Whole = a.Now().Unix()
	}
	zones := slices.Clone(out.selector.Zones)
	for _, kv := range r.Kvs {
		if _, zone, _, ok := a.Layout.ParseBefore(string(kv.Key)); ok && !out.excludes(zone) {
			zones = append(zones, zone)
		}
	}

	slices.Sort(zones)
	zones = slices.Compact(zones)
	refuse := func() error {
		return apierrors.NewBadRequest(fmt.Sprintf("the last steps of namespace %s are in the journals of %d zones, and an answer reads "+
			"at most %d, or %d MiB: ask for a Record, by the query parameter fqdn, or for the changes of a Zone", out.selector.Namespace,
			len(zones), maxZones, maxJournals>>20))
	}
	if len(zones) > maxZones {
		return refuse()
	}

	// Read the zones' journals, which share the room of the answer.
	room, now := maxAnswer, a.Now().Unix()
	for _, zone := range zones {
		archived, _, err := a.readArchived(ctx, zone, out.rev)
		if err != nil {
			return err
		}
		header, ok := out.selector.HeaderOf(zone)
		if !ok {
			// A zone with an archived removal has no step outside its segments.
			if header = (Header{Zone: zone}); archived.Gone != 0 {
				continue
			}
		}

		takes := func(x *Item) bool { return out.selectItem(x, now) }
		recent, err := a.readRecent(ctx, header, archived, takes, &room, out.Answer, out.rev)
		if err != nil {
			return err
		}
		if out.read > maxJournals {
			return refuse()
		}
		// A journal step without room for values appears bare, so the answer is whole only since then.
		for i := range recent {
			if recent[i].Bare {
				out.Whole = max(out.Whole, recent[i].Step.Time+1)
			}
		}

		slices.Reverse(recent)
		out.Items = append(out.Items, recent...)
	}

	out.octets, out.read = maxAnswer-room, 0 // the archive has its own bound
	return nil
}
