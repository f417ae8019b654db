// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"slices"
	"sync"

	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// placesOfZones and placesOfSigners are how many zones of one namespace, and of the signers of one, are looked at at
// the same time.
const placesOfZones, placesOfSigners = 1, 4

// places bound how many looks are under way at zones of one namespace, and at zones of signers of one namespace
// (S12.11). An agent, a server and the servers of a parent may be a tenant's, and answer late or never: they hold as
// many workers as their namespaces have places. A zone without a place waits here, and not in a worker.
type places struct {
	// wake has a zone looked at that has got its places. It may not block.
	wake func(zone cache.ObjectName)

	mu    sync.Mutex
	taken map[place]int
	// held are the places of zones that are looked at, or have been woken. waiting are those that wait, the first one
	// first.
	held    map[cache.ObjectName][]place
	waiting []waitingZone
}

type waitingZone struct {
	zone   cache.ObjectName
	places []place
}

// place is one of those of a namespace.
type place struct {
	namespace string
	// ofSigner: the namespace is that of the signer, not of the zone.
	ofSigner bool
}

func (p place) most() int {
	if p.ofSigner {
		return placesOfSigners
	}
	return placesOfZones
}

// listPlaces are the places that a look at a zone takes. Nothing is asked before a zone has a signer.
func listPlaces(zone *v1alpha1.Zone) []place {
	if zone.Status.DNSSEC == nil || zone.Status.DNSSEC.Signer == nil {
		return nil
	}
	return []place{{namespace: zone.Namespace}, {namespace: zone.Status.DNSSEC.Signer.Namespace, ofSigner: true}}
}

// takePlaces reports whether a zone has its places. If it has not, it is woken when it has them.
func (p *places) takePlaces(zone cache.ObjectName, needed []place) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, woken := p.held[zone]; woken || len(needed) == 0 {
		return true
	}
	if p.take(zone, needed) {
		return true
	}
	if !slices.ContainsFunc(p.waiting, func(other waitingZone) bool { return other.zone == zone }) {
		p.waiting = append(p.waiting, waitingZone{zone, needed})
	}
	return false
}

// returnPlaces returns the places of a zone, if it has any, and wakes the zones that have them now.
func (p *places) returnPlaces(zone cache.ObjectName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	given := p.held[zone]
	delete(p.held, zone)
	for _, one := range given {
		if p.taken[one]--; p.taken[one] == 0 {
			delete(p.taken, one)
		}
	}
	if len(given) == 0 {
		return
	}
	p.waiting = slices.DeleteFunc(p.waiting, func(next waitingZone) bool {
		woken := p.take(next.zone, next.places)
		if woken {
			p.wake(next.zone)
		}
		return woken
	})
}

// take is called with mu held.
func (p *places) take(zone cache.ObjectName, needed []place) bool {
	for _, one := range needed {
		if p.taken[one] >= one.most() {
			return false
		}
	}
	for _, one := range needed {
		p.taken[one]++
	}
	p.held[zone] = needed
	return true
}
