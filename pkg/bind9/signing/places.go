// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"slices"
	"sync"

	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

const placesOfZones, placesOfSigners = 1, 4

// places limits the zones whose signing is in progress: placesOfZones for each namespace with zones, and
// placesOfSigners for each namespace with signers. So a tenant with slow agents or servers occupies only a few workers.
// A zone needs a place of either kind.
type places struct {
	// wake enqueues a zone whose wait has ended. It must not block.
	wake func(zone cache.ObjectName)

	mu     sync.Mutex
	inUse  map[place]int
	byZone map[cache.ObjectName][]place
	// waiting has the zones without places, in order of arrival.
	waiting []waitingZone
}

type waitingZone struct {
	zone   cache.ObjectName
	places []place
}

type place struct {
	namespace string
	ofSigner  bool
}

func (p place) most() int {
	if p.ofSigner {
		return placesOfSigners
	}
	return placesOfZones
}

func listPlaces(zone *v1alpha1.Zone) []place {
	if zone.Status.DNSSEC == nil || zone.Status.DNSSEC.Signer == nil {
		return nil
	}
	return []place{{namespace: zone.Namespace}, {namespace: zone.Status.DNSSEC.Signer.Namespace, ofSigner: true}}
}

// takePlaces reports whether the zone's sync may go on. Otherwise the zone waits in order of arrival, and wake enqueues
// it later.
func (p *places) takePlaces(zone cache.ObjectName, needed []place) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	// returnPlaces has taken the places already, before waking the zone.
	if _, woken := p.byZone[zone]; woken || len(needed) == 0 {
		return true
	}
	if p.tryTake(zone, needed) {
		return true
	}
	if !slices.ContainsFunc(p.waiting, func(other waitingZone) bool { return other.zone == zone }) {
		p.waiting = append(p.waiting, waitingZone{zone, needed})
	}
	return false
}

// returnPlaces gives back a zone's places, and wakes every waiting zone that fits now. A zone behind a blocked zone may
// pass, because their namespaces differ.
func (p *places) returnPlaces(zone cache.ObjectName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	given := p.byZone[zone]
	delete(p.byZone, zone)
	for _, one := range given {
		if p.inUse[one]--; p.inUse[one] == 0 {
			delete(p.inUse, one)
		}
	}
	if len(given) == 0 {
		return
	}
	p.waiting = slices.DeleteFunc(p.waiting, func(next waitingZone) bool {
		woken := p.tryTake(next.zone, next.places)
		if woken {
			p.wake(next.zone)
		}
		return woken
	})
}

// tryTake takes all places or none. mu is held.
func (p *places) tryTake(zone cache.ObjectName, needed []place) bool {
	for _, one := range needed {
		if p.inUse[one] >= one.most() {
			return false
		}
	}
	for _, one := range needed {
		p.inUse[one]++
	}
	p.byZone[zone] = needed
	return true
}
