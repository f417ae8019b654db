// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"sync"

	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// frozenZones are the zones whose content cannot be proven.
type frozenZones struct {
	// find lists them.
	find func() []cache.ObjectName

	mu    sync.Mutex
	known map[cache.ObjectName]bool
}

// findChanges looks again which zones are frozen. It returns the zones that are frozen since the last look, and those
// that are not any more.
func (f *frozenZones) findChanges() []cache.ObjectName {
	f.mu.Lock()
	defer f.mu.Unlock()
	var changed []cache.ObjectName
	now := map[cache.ObjectName]bool{}
	for _, zone := range f.find() {
		if now[zone] = true; !f.known[zone] {
			changed = append(changed, zone)
		}
	}
	for zone := range f.known {
		if !now[zone] {
			changed = append(changed, zone)
		}
	}
	f.known = now
	return changed
}

func (f *frozenZones) has(zone *v1alpha1.Zone) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known[cache.NewObjectName(zone.Namespace, zone.Name)]
}
