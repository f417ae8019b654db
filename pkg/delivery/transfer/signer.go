// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/transfer"
)

const (
	// maxVersions bounds the serials of a zone whose digests are kept, maxProven those of a signer that are kept with
	// the serial of the zone that each has: servers behind it may be some of them late.
	maxVersions, maxProven = 64, 16
	// transferTimeout is how long one transfer from a signer may take, and shortWait is slept before one.
	transferTimeout, shortWait = 2 * time.Minute, 500 * time.Millisecond
	// firstShare is how far behind the transfers of a class may be where a zone is transferred that never was. After a
	// start all zones are such: a signer that hands out none in time would keep all workers of the class with each of
	// them, one after the other.
	firstShare = 5 * time.Minute
)

// A transfer from a signer pauses the next one of the zone from it, so that of each second the transfers of a zone take
// at most zonePace octets and a fifth of the time, and those of all zones of the class at most classPace octets and the
// time of two workers. A tenant that writes into a large zone of a signer that hands out no differences can cause no
// more than that. A zone that was never transferred from a signer waits for no other one.
const (
	zonePace, classPace   = 1 << 20, 16 << 20
	zoneShare, classShare = 4, 0.5
)

// pace is the time before which no further transfer begins.
type pace struct{ free time.Time }

func (p *pace) charge(now time.Time, took time.Duration, octets int, perSecond int, share float64) {
	if p.free.Before(now) {
		p.free = now
	}
	p.free = p.free.Add(max(time.Duration(float64(octets)/float64(perSecond)*float64(time.Second)), time.Duration(share*float64(took))))
}

// signedZone is what is known of one zone at secondaries that sign it.
type signedZone struct {
	mu sync.Mutex
	// versions are the latest serials of the zone, newest last.
	versions []version
	signers  map[string]*signer
}

// version is the content of a zone at one serial.
type version struct {
	serial serial.Serial
	digest digest
}

// signer is what one secondary that signs had when the zone was transferred from it last.
type signer struct {
	// serial is the signer's own, 0: no transfer has succeeded.
	serial serial.Serial
	digest digest
	soa    string
	// whole says that the zone was transferred as a whole, and not by differences.
	whole bool
	// holds are serials of the signer and the serial of the zone that each was found to have, newest last.
	holds []holding
	pace  pace
}

// holding says that a serial of a signer has the data of a serial of the zone.
type holding struct{ theirs, ours serial.Serial }

// signedKey is a zone under one name.
type signedKey struct {
	uid  string
	zone name.Name
}

// findSigned is what is known of the zone of a plan.
func (p *Provider) findSigned(plan delivery.Plan) *signedZone {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := signedKey{plan.UID, plan.Zone}
	z := p.zones[key]
	if z == nil {
		if len(p.zones) >= p.sweepAt { // Not every zone is removed by this process.
			maps.DeleteFunc(p.zones, func(key signedKey, _ *signedZone) bool { return p.config.Members.Name(key.uid) != key.zone })
			p.sweepAt = 2*len(p.zones) + 1024
		}
		z = &signedZone{signers: map[string]*signer{}}
		p.zones[key] = z
	}
	return z
}

// forgetSigned forgets a zone that leaves the class under a name.
func (p *Provider) forgetSigned(plan delivery.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.zones, signedKey{plan.UID, plan.Zone})
}

// askSigner is what a secondary that signs has of the zone: the serial of the zone whose data it has. It is transferred
// where its own serial is another one than when that was looked at last.
func (p *Provider) askSigner(ctx context.Context, s Secondary, plan delivery.Plan, theirs serial.Serial) seen {
	z := p.findSigned(plan)
	z.mu.Lock()
	known := z.signers[s.Name]
	if known == nil {
		known = &signer{}
		z.signers[s.Name] = known
	}
	z.mu.Unlock()
	if known.serial != theirs {
		wait := p.waitToTransfer(known)
		if 0 < wait && wait <= shortWait {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
			wait = 0
		}
		if wait > 0 {
			at := seen{note: fmt.Sprintf("it signs the zone; its serial %d is compared in %s, because a comparison before took long",
				theirs, wait.Round(time.Second)), passing: true}
			if held := known.latest(); held != (holding{}) {
				at.serial = held.ours
			}
			return at
		}
		if err := p.transferSigned(ctx, s, plan, z, known, theirs); err != nil {
			return seen{err: err, passing: err.Reason == delivery.ReasonServerUnreachable}
		}
	}
	return z.compareSigner(p, plan, known)
}

// waitToTransfer is how long no transfer from the signer may begin.
func (p *Provider) waitToTransfer(known *signer) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	class := p.pace.free
	if known.pace.free.IsZero() {
		class = class.Add(-firstShare)
	}
	return max(0, time.Until(known.pace.free), time.Until(class))
}

// transferSigned transfers what has changed at a signer since it was looked at last, or all of its zone.
func (p *Provider) transferSigned(ctx context.Context, s Secondary, plan delivery.Plan, z *signedZone, known *signer,
	theirs serial.Serial) *delivery.Error {
	ctx, cancel := context.WithTimeout(ctx, transferTimeout)
	defer cancel()
	began, octets := time.Now(), 0
	source := transfer.Source{Server: s.Addr.String(), Zone: plan.Zone, Key: s.Key, Dial: p.config.Dial, Wait: plan.CallTimeout}
	next := *known
	fetch := func(since *serial.Serial) error {
		var added, removed digest
		next.soa = ""
		got, err := transfer.Fetch(ctx, source, since, func(rr mdns.RR, gone bool) {
			switch {
			case next.soa == "":
				data, _ := readData(rr)
				next.soa = formatSOA(rr.Header().Ttl, data)
			case gone:
				removed.add(hashTransferred(rr))
			default:
				added.add(hashTransferred(rr))
			}
		})
		octets += got.Octets
		if next.serial, next.whole = got.Serial, got.Whole; got.Whole {
			next.digest = digest{}
		}
		next.digest.add(added)
		next.digest.subtract(removed)
		return err
	}
	var err error
	since := known.serial
	if since != 0 && theirs.Ahead(since) {
		err = fetch(&since)
	}
	if since == 0 || !theirs.Ahead(since) || err != nil && ctx.Err() == nil {
		next = *known
		err = fetch(nil) // It has no differences, or has begun anew.
	}
	z.mu.Lock()
	p.mu.Lock()
	defer z.mu.Unlock()
	defer p.mu.Unlock()
	now := time.Now()
	known.pace.charge(now, now.Sub(began), octets, zonePace, zoneShare)
	p.pace.charge(now, now.Sub(began), octets, classPace, classShare)
	if err != nil {
		return explainNoTransfer(s, err)
	}
	known.serial, known.digest, known.soa, known.whole = next.serial, next.digest, next.soa, next.whole
	return nil
}

func explainNoTransfer(s Secondary, err error) *delivery.Error {
	if local, refused := dial.AsLocal(err); refused {
		return delivery.Errorf(delivery.ReasonInvalidConfiguration, "%s: %w", s.Name, local)
	}
	reason := delivery.ReasonServerUnreachable
	var refusal *transfer.Refusal
	if errors.As(err, &refusal) {
		switch reason = delivery.ReasonServerError; refusal.Rcode {
		case mdns.RcodeRefused, mdns.RcodeNotAuth, mdns.RcodeSuccess: // the last one: not signed as it should be
			reason = delivery.ReasonAuthenticationFailed
		}
	}
	return delivery.Errorf(reason, "%s signs, so what it has is found out by a transfer from it, which fails: %w", s.Name, err)
}

// compareSigner says which serial of the zone a signer has.
func (z *signedZone) compareSigner(p *Provider, plan delivery.Plan, known *signer) seen {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.extendVersions(p, plan)
	var soa string
	if len(plan.SOA.Data) > 0 {
		soa = formatSOA(plan.SOA.TTL, plan.SOA.Data[0])
	}
	for _, one := range slices.Backward(z.versions) {
		if one.digest != known.digest {
			continue
		}
		if !plan.Serial.Ahead(one.serial) && known.soa != soa {
			continue // The zone had another SOA before, or the signer alters it.
		}
		known.hold(holding{known.serial, one.serial})
		return seen{serial: one.serial, note: fmt.Sprintf("it signs the zone; its serial %d has the data of %d", known.serial, one.serial)}
	}
	at := seen{passing: true, note: fmt.Sprintf("it signs the zone; its serial %d has not the data of %d, "+
		"nor of any serial known before: it has not transferred that yet, or it alters the zone; "+
		"kubizone verify names the RRsets that differ", known.serial, plan.Serial)}
	if !known.whole {
		known.serial = 0 // Differences may be wrong: the next look is at the whole zone.
	}
	return at
}

// extendVersions has the digests of the plan's serial and of those that the zone has had since.
func (z *signedZone) extendVersions(p *Provider, plan delivery.Plan) {
	until := plan.Serial
	if served := p.config.Served(plan.UID); served.Ahead(until) {
		until = served
	}
	if n := len(z.versions); n > 0 {
		z.followChanges(p, plan.UID, until)
	}
	if !slices.ContainsFunc(z.versions, func(one version) bool { return one.serial == plan.Serial }) {
		// The changes that lead here are not known, or never were.
		z.versions = append(z.versions[:0], version{plan.Serial, hashZone(plan)})
		z.followChanges(p, plan.UID, until)
	}
	if over := len(z.versions) - maxVersions; over > 0 {
		z.versions = slices.Delete(z.versions, 0, over)
	}
}

// followChanges adds the serials from the newest one to until, as far as their changes are known.
func (z *signedZone) followChanges(p *Provider, uid string, until serial.Serial) {
	at := z.versions[len(z.versions)-1]
	if !until.Ahead(at.serial) {
		return
	}
	changes, err := p.config.Changes(uid, at.serial, until)
	if err != nil {
		return
	}
	for _, change := range changes {
		for _, e := range change.Removed {
			at.digest.subtract(hashRecord(e.Name.String(), e.Type, e.TTL, e.Data))
		}
		for _, e := range change.Added {
			at.digest.add(hashRecord(e.Name.String(), e.Type, e.TTL, e.Data))
		}
		at.serial = change.To
		z.versions = append(z.versions, at)
	}
}

func (s *signer) hold(found holding) {
	if s.latest() == found {
		return
	}
	s.holds = append(s.holds, found)
	if over := len(s.holds) - maxProven; over > 0 {
		s.holds = slices.Delete(s.holds, 0, over)
	}
}

// latest is what the signer was found to have last, zero: nothing.
func (s *signer) latest() holding {
	if len(s.holds) == 0 {
		return holding{}
	}
	return s.holds[len(s.holds)-1]
}

// findBehind is what a secondary has that transfers from a signer and answers with a serial: what that signer had with
// this serial. Of one that transfers from us as well, a serial of the zone is its own.
func (p *Provider) findBehind(s Secondary, plan delivery.Plan, theirs serial.Serial) seen {
	if s.Unsigned && !p.mayBeAhead(plan, theirs) {
		return seen{serial: theirs}
	}
	z := p.findSigned(plan)
	z.mu.Lock()
	defer z.mu.Unlock()
	if from := z.signers[s.Signer]; from != nil {
		for _, one := range slices.Backward(from.holds) {
			if one.theirs == theirs {
				return seen{serial: one.ours, note: fmt.Sprintf("its serial %d is that of %s, which has the data of %d", theirs, s.Signer,
					one.ours)}
			}
		}
	}
	return seen{passing: true, note: fmt.Sprintf("its serial %d is none with which %s was found to have a serial of the zone", theirs,
		s.Signer)}
}
