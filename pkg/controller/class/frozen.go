// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// frozenZones are the zones whose content cannot be proven.
type frozenZones struct {
	// find lists them; nil: none is ever frozen.
	find func() []cache.ObjectName

	mu sync.Mutex
	// told says whether an Event told of it, by zone.
	told map[cache.ObjectName]bool
}

// findChanges looks again which zones are frozen. It returns the zones that are frozen since the last look, and those
// that are not any more.
func (f *frozenZones) findChanges() []cache.ObjectName {
	if f.find == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var changed []cache.ObjectName
	now := map[cache.ObjectName]bool{}
	for _, zone := range f.find() {
		told, was := f.told[zone]
		if now[zone] = told; !was {
			changed = append(changed, zone)
		}
	}
	for zone := range f.told {
		if _, is := now[zone]; !is {
			changed = append(changed, zone)
		}
	}
	f.told = now
	return changed
}

func (f *frozenZones) has(zone *v1alpha1.Zone) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, is := f.told[cache.NewObjectName(zone.Namespace, zone.Name)]
	return is
}

// announceChange tells once that a zone is frozen, however often it is written meanwhile, and that it no longer is.
func (f *frozenZones) announceChange(to announcer, zone *v1alpha1.Zone, before *metav1.Condition, now judgement) {
	at, was := cache.NewObjectName(zone.Namespace, zone.Name), before != nil && before.Reason == v1alpha1.ReasonFrozen
	f.mu.Lock()
	told, is := f.told[at]
	if is && now == frozen {
		f.told[at] = true
	}
	f.mu.Unlock()
	switch {
	case is && now == frozen && !was && !told:
		to.warnZone(zone, now.reason, "%s", now.message)
	case !is && was:
		to.tellZone(zone, now.reason, "the zone is proven again")
	}
}
