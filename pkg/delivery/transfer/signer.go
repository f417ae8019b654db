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
	"kubi.zone/kubizone/pkg/dns/transfer"
)

const (
	// maxVersions bounds the digests kept for a zone, maxProven the matches kept for a signer. Secondaries may lag by
	// several serials.
	maxVersions, maxProven     = 64, 16
	transferTimeout, shortWait = 2 * time.Minute, 500 * time.Millisecond
	// firstShare is how far a zone's first transfer may precede the class's rate limit. After a start every zone needs
	// a transfer, and a silent signer would occupy all workers.
	firstShare = 5 * time.Minute
)

// Transfers of a zone have zonePace octets per second and a fifth of the time; of a class, classPace octets per second
// and two workers. A tenant's writes into a large zone cost no more, even without IXFR.
const (
	zonePace, classPace   = 1 << 20, 16 << 20
	zoneShare, classShare = 4, 0.5
)

// pace is a rate limit. free is the next permitted begin.
type pace struct{ free time.Time }

// charge moves the next permitted begin by the time that octets need at perSecond, or by share of the elapsed time,
// whichever is longer.
func (p *pace) charge(now time.Time, elapsed time.Duration, octets int, perSecond int, share float64) {
	if p.free.Before(now) {
		p.free = now
	}
	p.free = p.free.Add(max(time.Duration(float64(octets)/float64(perSecond)*float64(time.Second)), time.Duration(share*float64(elapsed))))
}

type signedZone struct {
	mu       sync.Mutex
	versions []version
	signers  map[string]*signer
}

type version struct {
	serial serial.Serial
	digest digest
}

type signer struct {
	// serial is the signer's serial; 0 before the first transfer.
	serial serial.Serial
	digest digest
	soa    string
	whole  bool
	// matches pairs the signer's serials with the zone's, the newest last.
	matches []match
	pace    pace
}

// match means that the signer's serial remote has the data of the zone's serial local.
type match struct{ remote, local serial.Serial }

type signedKey struct {
	uid  string
	zone name.Name
}

func (p *Provider) ensureSignedZone(plan delivery.Plan) *signedZone {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := signedKey{plan.UID, plan.Zone}
	z := p.zones[key]
	if z == nil {
		if len(p.zones) >= p.sweepAt { // zones may be removed by other processes
			maps.DeleteFunc(p.zones, func(key signedKey, _ *signedZone) bool { return p.config.Members.Name(key.uid) != key.zone })
			p.sweepAt = 2*len(p.zones) + 1024
		}
		z = &signedZone{signers: map[string]*signer{}}
		p.zones[key] = z
	}
	return z
}

func (p *Provider) forgetSignedZone(plan delivery.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.zones, signedKey{plan.UID, plan.Zone})
}

// While the rate limit forbids a transfer, askSigner returns the last match.
func (p *Provider) askSigner(ctx context.Context, s Secondary, plan delivery.Plan, observed serial.Serial) probe {
	z := p.ensureSignedZone(plan)
	z.mu.Lock()
	known := z.signers[s.Name]
	if known == nil {
		known = &signer{}
		z.signers[s.Name] = known
	}
	z.mu.Unlock()

	if known.serial != observed {
		wait := p.waitToTransfer(known)
		// A short wait costs less than another attempt.
		if 0 < wait && wait <= shortWait {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
			wait = 0
		}

		// Too early: report the last match, so that the zone's row does not go back.
		if wait > 0 {
			at := probe{note: fmt.Sprintf("it signs the zone; its serial %d is compared in %s, because a comparison before took long",
				observed, wait.Round(time.Second)), passing: true}
			if held := known.latest(); held != (match{}) {
				at.serial = held.local
			}
			return at
		}

		if err := p.transferFromSigner(ctx, s, plan, z, known, observed); err != nil {
			return probe{err: err, passing: err.Reason == delivery.ReasonServerUnreachable}
		}
	}
	return z.compareSigner(p, plan, known)
}

func (p *Provider) waitToTransfer(known *signer) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	class := p.pace.free
	if known.pace.free.IsZero() {
		class = class.Add(-firstShare)
	}
	return max(0, time.Until(known.pace.free), time.Until(class))
}

// transferFromSigner transfers the zone from its signer, by IXFR if possible, and updates digest and serial of known.
// Both rate limits are charged even for a failed transfer. Only one goroutine at a time transfers for a signer.
func (p *Provider) transferFromSigner(ctx context.Context, s Secondary, plan delivery.Plan, z *signedZone, known *signer,
	observed serial.Serial) *delivery.Error {
	ctx, cancel := context.WithTimeout(ctx, transferTimeout)
	defer cancel()
	began, octets := time.Now(), 0
	source := transfer.Source{Server: s.Addr.String(), Zone: plan.Zone, Key: s.Key, Dial: p.dialerOf(s), Wait: plan.CallTimeout}

	next := *known

	// fetch transfers into next, a copy: a broken transfer leaves known as it was.
	fetch := func(since *serial.Serial) error {
		var added, removed digest
		next.soa = ""
		got, err := transfer.Fetch(ctx, source, since, func(rr mdns.RR, gone bool) {
			switch {
			// The first record is the SOA of the new version.
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

	// Incremental if the signer is ahead of the known serial, else full.
	var err error
	since := known.serial
	if since != 0 && observed.Ahead(since) {
		err = fetch(&since)
	}
	if since == 0 || !observed.Ahead(since) || err != nil && ctx.Err() == nil {
		next = *known
		err = fetch(nil) // the signer has no differences, or has started over
	}

	// Charge the rate limits, and keep the result.
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
		case mdns.RcodeRefused, mdns.RcodeNotAuth, mdns.RcodeSuccess: // RcodeSuccess: not signed as required
			reason = delivery.ReasonAuthenticationFailed
		}
	}
	return delivery.Errorf(reason, "%s signs, so its data are compared by a transfer from it, which fails: %w", s.Name, err)
}

// compareSigner looks for the serial of the zone whose data the signer has, the newest first. Without a match the probe
// has serial 0 and a note. It locks z.
func (z *signedZone) compareSigner(p *Provider, plan delivery.Plan, known *signer) probe {
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
			continue // the zone had another SOA before, or the signer changes the SOA
		}
		known.addMatch(match{known.serial, one.serial})
		return probe{serial: one.serial, note: fmt.Sprintf("it signs the zone; its serial %d has the data of %d", known.serial, one.serial)}
	}
	at := probe{passing: true, note: fmt.Sprintf("it signs the zone; its serial %d does not have the data of %d or of an earlier serial: "+
		"it has not transferred the zone yet, or it alters the zone; kubectl kubizone verify names the RRsets that "+
		"differ", known.serial, plan.Serial)}
	// Sums of increments may have gone wrong by a lost record.
	if !known.whole {
		known.serial = 0 // differences may be wrong: the next transfer is full
	}
	return at
}

// extendVersions adds the digests of the serials up to the plan's, or up to the served serial if later, to z.versions.
// The caller holds z.mu.
func (z *signedZone) extendVersions(p *Provider, plan delivery.Plan) {
	until := plan.Serial
	// The signer may have fetched a serial that is newer than the plan.
	if served := p.config.ServedSerial(plan.UID); served.Ahead(until) {
		until = served
	}
	if n := len(z.versions); n > 0 {
		z.followChanges(p, plan.UID, until)
	}
	// No changes lead to the plan's serial: hash the whole zone once.
	if !slices.ContainsFunc(z.versions, func(one version) bool { return one.serial == plan.Serial }) {
		z.versions = append(z.versions[:0], version{plan.Serial, hashZone(plan)})
		z.followChanges(p, plan.UID, until)
	}
	if over := len(z.versions) - maxVersions; over > 0 {
		z.versions = slices.Delete(z.versions, 0, over)
	}
}

// followChanges adds a version for each change after the last version. If changes are trimmed, it adds none. The caller
// holds z.mu, and z.versions is not empty.
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

func (s *signer) addMatch(found match) {
	if s.latest() == found {
		return
	}
	s.matches = append(s.matches, found)
	if over := len(s.matches) - maxProven; over > 0 {
		s.matches = slices.Delete(s.matches, 0, over)
	}
}

func (s *signer) latest() match {
	if len(s.matches) == 0 {
		return match{}
	}
	return s.matches[len(s.matches)-1]
}

// findBehind returns the zone's serial for the serial observed at a secondary of a signer, which counts its own
// serials. A secondary that also transfers from our primaries may answer the zone's serial itself.
func (p *Provider) findBehind(s Secondary, plan delivery.Plan, observed serial.Serial) probe {
	if s.Unsigned && !p.mayBeAhead(plan, observed) {
		return probe{serial: observed}
	}

	signed := p.ensureSignedZone(plan)
	signed.mu.Lock()
	defer signed.mu.Unlock()

	if known := signed.signers[s.Signer]; known != nil {
		// A secondary may lag behind its signer by some serials.
		for _, pair := range slices.Backward(known.matches) {
			if pair.remote == observed {
				return probe{serial: pair.local, note: fmt.Sprintf("its serial %d is that of %s, which has the data of %d",
					observed, s.Signer, pair.local)}
			}
		}
	}

	return probe{passing: true, note: fmt.Sprintf("its serial %d is none with which %s was found to have a serial of the zone", observed,
		s.Signer)}
}
