// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"context"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

const (
	// The first period has firstWidth seconds. Later ones are growth times longer or shorter, to hold about pageKeys
	// keys.
	pageKeys   = 64
	firstWidth = 3600
	growth     = 8
)

// cursor lists the keys of an account's history segments, newest first. For a page in descending order, etcd would
// read all older keys. So a cursor reads period after period, each in ascending order, and adapts the length of the
// period to about pageKeys keys.
type cursor struct {
	a      *Archive
	rev    int64               // of all reads
	below  layout.SegmentKey   // the first key already listed; the next period ends there
	width  int64               // length of the next period, in seconds
	oldest int64               // Unix time of the oldest segment
	keys   []layout.SegmentKey // of the last period, ascending; nextKey takes the last
}

// openCursor returns a cursor for the segments of an account before the key below, all read at revision rev. Without
// segments, oldest is later than below, so nextKey is at the end.
func (a *Archive) openCursor(ctx context.Context, below layout.SegmentKey, rev int64) (*cursor, error) {
	d := &cursor{a: a, below: below, rev: rev, width: firstWidth, oldest: below.Time + 1}
	prefix := a.Layout.Segments(below.Account)
	r, err := a.Client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithRev(rev), clientv3.WithKeysOnly())
	if err != nil {
		return nil, err
	}
	for _, kv := range r.Kvs {
		if k, ok := a.Layout.ParseSegment(string(kv.Key)); ok {
			d.oldest = k.Time
		}
	}
	return d, nil
}

// nextKey returns the next older key, or nil at the end. A period may have no key, so several may be read.
func (d *cursor) nextKey(ctx context.Context) (*layout.SegmentKey, error) {
	for len(d.keys) == 0 {
		// A key without a zone begins its second, so all keys of the oldest second were listed.
		if d.below.Time < d.oldest || d.below.Time == d.oldest && d.below.Zone == "" {
			return nil, nil
		}
		if err := d.readKeys(ctx); err != nil {
			return nil, err
		}
	}
	k := d.keys[len(d.keys)-1]
	d.keys = d.keys[:len(d.keys)-1]
	return &k, nil
}

// cursors merges the cursors of several accounts by time.
type cursors struct{ heads []*head }

// head is an account's cursor with the next key, which is nil only at the end.
type head struct {
	*cursor
	key *layout.SegmentKey
}

func isAtEnd(h *head) bool { return h.key == nil }

// openCursors opens a cursor for each account and reads its first key, so that nextKey can merge by time.
func (a *Archive) openCursors(ctx context.Context, accounts []string, below layout.SegmentKey, rev int64) (*cursors, error) {
	out := &cursors{}
	for _, account := range accounts {
		below.Account = account
		d, err := a.openCursor(ctx, below, rev)
		if err != nil {
			return nil, err
		}
		k, err := d.nextKey(ctx)
		if err != nil {
			return nil, err
		}
		out.heads = append(out.heads, &head{d, k})
	}
	out.heads = slices.DeleteFunc(out.heads, isAtEnd)
	return out, nil
}

// nextKey returns the newest of the accounts' next keys, or nil at the end.
func (d *cursors) nextKey(ctx context.Context) (k *layout.SegmentKey, err error) {
	if len(d.heads) == 0 {
		return nil, nil
	}
	newest := slices.MaxFunc(d.heads, func(x, y *head) int { return compareTimes(x.key, y.key) })
	k = newest.key
	newest.key, err = newest.nextKey(ctx)
	d.heads = slices.DeleteFunc(d.heads, isAtEnd)
	return k, err
}

func compareTimes(x, y *layout.SegmentKey) int {
	return cmp.Or(cmp.Compare(x.Time, y.Time), strings.Compare(x.Zone, y.Zone), cmp.Compare(x.Last, y.Last))
}

// readKeys reads the keys of the next period or, if there are too many, only shortens the period.
func (d *cursor) readKeys(ctx context.Context) error {
	newest := d.below.Time
	if d.below.Zone == "" { // begins the second: all its keys were listed
		newest--
	}
	// Without a continue token, below is in the far future, and the first period ends now.
	first := layout.SegmentKey{Account: d.below.Account, Time: max(d.oldest, min(newest, d.a.Now().Unix())-d.width)}
	from, end := d.a.Layout.Segment(first), d.a.Layout.Segment(d.below)
	for more := true; more; {
		r, err := d.a.Client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(pageKeys), clientv3.WithRev(d.rev),
			clientv3.WithKeysOnly())
		if err != nil {
			return err
		}
		if more = r.More; more && d.width > 0 { // too many: try a shorter period; 0 is a single second
			d.width /= growth
			d.keys = nil
			return nil
		}

		for _, kv := range r.Kvs {
			from = string(kv.Key) + "\x00"
			if k, ok := d.a.Layout.ParseSegment(string(kv.Key)); ok {
				d.keys = append(d.keys, k)
			}
		}
	}

	// A quiet account gets longer periods, so a year without changes costs few reads.
	if d.below = first; len(d.keys) < pageKeys/growth {
		d.width = max(1, d.width*growth)
	}
	return nil
}
