// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"sync"

	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// FrozenZones are the zones that List returned last.
type FrozenZones struct {
	List func() []cache.ObjectName

	mu     sync.Mutex
	listed map[cache.ObjectName]bool
}

// FindChanges calls List, and returns new and missing zones.
func (f *FrozenZones) FindChanges() []cache.ObjectName {
	f.mu.Lock()
	defer f.mu.Unlock()
	var changed []cache.ObjectName
	now := map[cache.ObjectName]bool{}
	for _, zone := range f.List() {
		if now[zone] = true; !f.listed[zone] {
			changed = append(changed, zone)
		}
	}
	// A zone that fsck or a restore has repaired is judged again too.
	for zone := range f.listed {
		if !now[zone] {
			changed = append(changed, zone)
		}
	}
	f.listed = now
	return changed
}

func (f *FrozenZones) Has(zone *v1alpha1.Zone) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.listed[cache.NewObjectName(zone.Namespace, zone.Name)]
}
