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

// WriteOrder puts RRsets whose last write failed last, the oldest failure first, because they must not delay others if
// an attempt ends early.
type WriteOrder struct {
	mu       sync.Mutex
	failures map[name.Name]map[RRsetKey]uint64
	count    uint64
}

const MaxFailed = 4096

// FailedRRsets returns a zone's RRsets whose last write failed. A higher number means a later failure.
func (o *WriteOrder) FailedRRsets(zone name.Name) map[RRsetKey]uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.failures[zone])
}

// Note records whether the last write of an RRset failed. At most MaxFailed failed RRsets of a zone are kept.
func (o *WriteOrder) Note(zone name.Name, key RRsetKey, failed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	failures := o.failures[zone]
	if !failed {
		delete(failures, key)
		if len(failures) == 0 {
			delete(o.failures, zone)
		}
		return
	}

	// A full list keeps its entries: a new failure is then written in the usual order, among the other RRsets.
	_, known := failures[key]
	if !known && len(failures) >= MaxFailed {
		return
	}

	if failures == nil {
		if o.failures == nil {
			o.failures = map[name.Name]map[RRsetKey]uint64{}
		}
		failures = map[RRsetKey]uint64{}
		o.failures[zone] = failures
	}
	o.count++
	failures[key] = o.count
}

func (o *WriteOrder) Forget(zone name.Name) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.failures, zone)
}

// Divide puts the changes at names with failed RRsets last, the oldest failure first.
func (o *WriteOrder) Divide(zone name.Name, changes []Change) (first, last []Change) {
	// An RRset moves with its name: CNAME and A at www exclude each other, so their changes stay together.
	failures := map[name.Name]uint64{}
	for key, number := range o.FailedRRsets(zone) {
		failures[key.Name] = max(number, failures[key.Name])
	}
	for _, change := range changes {
		if _, failed := failures[change.After.Name]; failed {
			last = append(last, change)
		} else {
			first = append(first, change)
		}
	}
	slices.SortStableFunc(last, func(one, other Change) int {
		return cmp.Compare(failures[one.After.Name], failures[other.After.Name])
	})
	return first, last
}
