// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"kubi.zone/kubizone/pkg/dns/name"
)

// WriteOrder is the order in which a provider writes RRsets: those that failed in an earlier attempt go behind the
// others, and of them the one first that failed longest ago. An attempt may end before all are written, and so RRsets
// that fail hold up no others. It is lost with the process, and no verdict rests on it.
type WriteOrder struct {
	mu sync.Mutex
	// failed has, for each RRset that failed, how many had failed until then.
	failed map[name.Name]map[RRsetKey]uint64
	count  uint64
}

// MaxFailed is how many failed RRsets of one zone a WriteOrder remembers.
const MaxFailed = 4096

// Failed are the RRsets of a zone that failed, each with a number that grows with the time at which it did.
func (o *WriteOrder) Failed(zone name.Name) map[RRsetKey]uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.failed[zone])
}

// Note remembers that an RRset was written, or failed.
func (o *WriteOrder) Note(zone name.Name, key RRsetKey, failed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	of := o.failed[zone]
	_, known := of[key]
	switch {
	case !failed:
		if delete(of, key); len(of) == 0 {
			delete(o.failed, zone)
		}
	case of == nil:
		if o.failed == nil {
			o.failed = map[name.Name]map[RRsetKey]uint64{}
		}
		o.count++
		o.failed[zone] = map[RRsetKey]uint64{key: o.count}
	case known || len(of) < MaxFailed:
		o.count++
		of[key] = o.count
	}
}

// Forget is for a zone that is removed.
func (o *WriteOrder) Forget(zone name.Name) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.failed, zone)
}

// Divide divides changes in canonical order into those to be written first, and those at names at which RRsets failed.
func (o *WriteOrder) Divide(zone name.Name, changes []Change) (first, last []Change) {
	failed := map[name.Name]uint64{}
	for key, at := range o.Failed(zone) {
		failed[key.Name] = max(at, failed[key.Name])
	}
	for _, change := range changes {
		if _, is := failed[change.After.Name]; is {
			last = append(last, change)
		} else {
			first = append(first, change)
		}
	}
	slices.SortStableFunc(last, func(one, other Change) int {
		return cmp.Compare(failed[one.After.Name], failed[other.After.Name])
	})
	return first, last
}
