// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package subrev

import (
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// numberWrites returns the sub-revisions of a branch's writes (Then or Else), and puts them before the values. For each
// resource the numbers end with 127 at the last write. If etcd may skip a write (deletion of an absent key) or multiply
// a write (deletion of a range), it must be the resource's only write. The function isPresent reports whether the
// transaction compares a key's existence.
func (m *Mapping) numberWrites(ops []clientv3.Op, isPresent func(key string) bool) ([]int64, error) {
	subs := make([]int64, len(ops))
	written := make([]int64, len(m.resources))  // writes so far, by resource
	uncounted := make([]bool, len(m.resources)) // whether etcd may skip or multiply the resource's write
	// From the last write back, so that the last write of each resource has 127, however many precede.
	for i := len(ops) - 1; i >= 0; i-- {
		op := &ops[i]
		subs[i] = Last
		if op.IsGet() {
			continue
		}
		if op.IsTxn() {
			if m.writesObjects(ops[i : i+1]) {
				// The number of writes depends on the branch taken.
				return nil, fmt.Errorf("a transaction inside a transaction writes objects: their number is not known; " +
					"write them in the outer one")
			}
			continue
		}

		touched, _ := m.resourcesIn(spanOf(*op))
		for _, r := range touched {
			isRange := len(op.RangeBytes()) > 0
			// Example: a deletion of records/team-a/www without a compare. If the Record is absent, etcd writes
			// nothing, and the numbers of the other Records would have a gap.
			isUncounted := op.IsDelete() && (isRange || !isPresent(string(op.KeyBytes())))
			if uncounted[r] || isUncounted && written[r] > 0 {
				return nil, fmt.Errorf("%s: a deletion of a range, or of a key that is not compared with its version, "+
					"is the only write of its resource in a transaction; compare ModRevision = its version", op.KeyBytes())
			}
			written[r]++
			if written[r] > Objects {
				return nil, fmt.Errorf("more than %d objects of %s in one transaction; write the rest in another", Objects, m.resources[r])
			}
			uncounted[r] = isUncounted
			subs[i] = Objects - written[r]
		}

		if op.IsPut() && len(touched) > 0 {
			if len(op.ValueBytes()) == 0 { // or etcd keeps the value, with another write's octet
				return nil, fmt.Errorf("%s: an object is put with its value", op.KeyBytes())
			}
			// The octet goes into the stored value, before the encoding of the object.
			op.WithValueBytes(encodeValue(op.ValueBytes(), subs[i]))
		}
	}

	return subs, nil
}

func (m *Mapping) writesObjects(ops []clientv3.Op) bool {
	return slices.ContainsFunc(ops, func(op clientv3.Op) bool {
		switch {
		case op.IsGet():
			return false
		case op.IsTxn():
			_, then, orelse := op.Txn()
			return m.writesObjects(slices.Concat(then, orelse))
		}
		touched, _ := m.resourcesIn(spanOf(op))
		return len(touched) > 0
	})
}

// countEvents appends the sub-revision (place within a transaction) of each event of a revision to subs. It returns
// false if the writer did not number the objects: sub-revisions repeat, or are too many.
func (m *Mapping) countEvents(events []*clientv3.Event, subs []int64) ([]int64, bool) {
	first := len(subs)
	next := make([]int64, len(m.resources)) // by resource
	for range events {
		subs = append(subs, Last)
	}
	for i := len(events) - 1; i >= 0; i-- {
		r := resourceIndex(m.resources, events[i].Kv.Key)
		if r < 0 {
			continue
		}

		// A deletion, which stores no sub-revision, counts down from the next write's.
		next[r]++
		sub := Objects - next[r]
		if events[i].Type == mvccpb.Event_PUT {
			_, stored := decodeValue(events[i].Kv.Value)
			// Higher than its place permits: not numbered by this package, as after a write with etcdctl.
			if stored > sub {
				return nil, false
			}
			sub = stored
			next[r] = Objects - stored
		}

		if sub < 0 {
			return nil, false
		}
		subs[first+i] = sub
	}

	return subs, true
}
