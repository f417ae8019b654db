// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/transfer"
)

const (
	// recheckInterval is the least time between comparisons of a zone that differs, or on request.
	sampleInterval, recheckInterval = 24 * time.Hour, time.Minute
	// A server is compared at most once in samplePause, for a fifth of the time, and with zonePace octets per second.
	samplePause   = time.Second
	sampleTimeout = 20 * time.Second
)

// samples has the last comparison of each zone, by secondary. After a restart all are due.
type samples struct {
	mu      sync.Mutex
	servers map[string]*serverSamples
}

type serverSamples struct {
	busy bool
	pace pace
	// zones are by UID. When zones has sweepAt entries, those removed by other processes are dropped.
	zones   map[string]sample
	sweepAt int
}

type sample struct {
	takenAt time.Time
	serial  serial.Serial
	// found is nil if the data is equal, or the comparison failed.
	found  *difference
	failed bool
}

// isDue reports whether the zone's data at a server must be compared now. differs means that the last comparison found
// a difference, routine that this is a scheduled comparison and no delivery. Without a sample, s is zero: of no serial,
// and ages ago.
func (s sample) isDue(now time.Time, plan delivery.Plan, differs, routine bool) bool {
	age := now.Sub(s.takenAt)
	switch {
	// A new serial may have repaired the difference. Otherwise the server is asked again after a minute.
	case differs:
		return s.serial != plan.Serial || age >= recheckInterval
	// A delivery compares no other server.
	case !routine:
		return false
	// A user asked for the comparison (kubi.zone/verify-requested-at).
	case plan.Requested:
		return age >= recheckInterval
	}
	return age >= sampleInterval
}

// beginSample returns the last sample, and whether a comparison is due and permitted. If due, the server is busy until
// endSample.
func (a *samples) beginSample(server string, plan delivery.Plan, differs, routine bool) (last sample, due bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept := a.servers[server]
	if kept == nil {
		kept = &serverSamples{zones: map[string]sample{}}
		a.servers[server] = kept
	}
	now := time.Now()
	last = kept.zones[plan.UID]
	// One comparison at a time for each server, and none during a pause after a large transfer.
	if kept.busy || now.Before(kept.pace.free) || !last.isDue(now, plan, differs, routine) {
		return last, false
	}
	kept.busy = true
	return last, true
}

// endSample frees the server, charges the transfer to its rate limit, and keeps the sample. A zero sample keeps the
// former one. nameOf tells which zones still exist.
func (a *samples) endSample(server, uid string, began time.Time, octets int, taken sample, nameOf func(uid string) name.Name) {
	a.mu.Lock()
	defer a.mu.Unlock()

	kept, now := a.servers[server], time.Now()
	kept.busy = false
	kept.pace.charge(now, now.Sub(began), octets, zonePace, zoneShare)
	if least := began.Add(samplePause); kept.pace.free.Before(least) {
		kept.pace.free = least
	}

	if taken.takenAt.IsZero() {
		return
	}

	// Doubling the limit after each sweep makes sweeps rare.
	if len(kept.zones) >= kept.sweepAt {
		maps.DeleteFunc(kept.zones, func(uid string, _ sample) bool { return nameOf(uid).IsZero() })
		kept.sweepAt = 2*len(kept.zones) + 1024
	}

	kept.zones[uid] = taken
}

func (a *samples) forgetZone(uid string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, of := range a.servers {
		delete(of.zones, uid)
	}
}

// compareContent compares the data of secondaries with the zone's. The result has the difference of each secondary, or
// nil. If routine is false, it compares only servers that had other data before.
func (p *Provider) compareContent(ctx context.Context, plan delivery.Plan, rows []delivery.Server, routine bool) []*difference {
	found := make([]*difference, len(rows))
	summary := sync.OnceValue(func() zoneSummary { return measureZone(plan) })
	p.eachSecondary(func(i int, s Secondary) {
		// Signers change the data, so compareSigner compares them.
		if !s.ownSerials() {
			found[i] = p.compareSecondary(ctx, s, plan, summary, &rows[i], routine)
		}
	})
	return found
}

// compareSecondary compares one secondary with the zone if a comparison is due, and otherwise uses the last result for
// the row. It returns the difference, or nil. It writes row.
func (p *Provider) compareSecondary(ctx context.Context, s Secondary, plan delivery.Plan, summary func() zoneSummary, row *delivery.Server,
	routine bool) *difference {
	// Begin with the result in the Delivery, which survives a restart.
	if at := slices.IndexFunc(plan.Servers, func(row delivery.Server) bool { return row.Name == s.Name }); at >= 0 {
		row.Content, row.DiffersSince = plan.Servers[at].Content, plan.Servers[at].DiffersSince
		if row.Content == delivery.ContentNotCompared {
			row.Note = cmp.Or(plan.Servers[at].Note, "not compared: the comparison failed") // a lagging server's row has no Note
		}
	}

	// The zone must not leave the server in clear.
	if s.InClear {
		row.Content, row.DiffersSince = delivery.ContentNotCompared, 0
		row.Note = "not compared: zones of the class go over TLS alone, and the class has no tlsServer for it"
		return nil
	}
	// Data are comparable only at the same serial.
	if row.Err != nil || row.Serial != plan.Serial {
		return nil
	}

	last, due := p.samples.beginSample(s.Name, plan, row.Content == delivery.ContentDiffers, routine)
	if due {
		last = p.takeSample(ctx, s, plan, summary(), row)
	}

	// No comparison at this serial yet. A server that differed before stays so.
	if last.takenAt.IsZero() || last.serial != plan.Serial || last.failed {
		if row.Content == delivery.ContentDiffers {
			row.Note = "it had other data than the zone; its serial counts when its data are compared again"
		}
		return nil
	}

	if row.Content, row.Note = "", ""; last.found == nil {
		row.DiffersSince = 0
		return nil
	}

	row.Content, row.DiffersSince = delivery.ContentDiffers, cmp.Or(row.DiffersSince, plan.Serial)
	row.Err, row.AwaitsSerial = p.describeDifference(s, plan, row.DiffersSince, last.found)
	return last.found
}

// takeSample compares one secondary now, and describes a failed comparison in row. The sample is zero if it shows
// nothing, so that a comparison stays due.
func (p *Provider) takeSample(ctx context.Context, s Secondary, plan delivery.Plan, summary zoneSummary, row *delivery.Server) sample {
	limit := sampleTimeout
	if plan.CallTimeout != 0 {
		limit = min(limit, plan.CallTimeout)
	}
	asking, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	began := time.Now()
	found, octets, err := p.readContent(asking, s, plan, summary)

	taken := sample{takenAt: began, serial: plan.Serial, found: found, failed: err != nil}
	var refusal *transfer.Refusal
	refused := errors.As(err, &refusal)
	switch {
	case err == nil:
	// The Loop stops, or a new serial arrived in the middle.
	case ctx.Err() != nil, errors.Is(err, errOtherSerial):
		taken = sample{}
	case refused || row.Content != delivery.ContentDiffers:
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("it has not transferred the zone in %s", limit)
		}
		// A refused transfer is no difference.
		row.Content, row.DiffersSince = delivery.ContentNotCompared, 0
		if row.Note = fmt.Sprintf("not compared: %v", withoutPorts(err)); refused {
			row.Note = "not compared: it refuses to transfer the zone to the controller; let its key or address transfer, " +
				"and other data at the zone's serial are found"
		}
	}

	p.samples.endSample(s.Name, plan.UID, began, octets, taken, p.config.Members.Name)
	return taken
}

// describeDifference returns the error of a secondary with other data. awaitsSerial is true if a new serial may help,
// because the secondary then transfers the zone whole.
func (p *Provider) describeDifference(s Secondary, plan delivery.Plan, since serial.Serial, found *difference) (e *delivery.Error,
	awaitsSerial bool) {
	e = delivery.Errorf(delivery.ReasonContentDiffers, "%s has serial %d of %s with other data: %s", s.Name, plan.Serial, plan.Zone, found)
	wasWhole := since != plan.Serial && p.config.NeedsFullTransfer(plan.UID, since, plan.Serial)
	// A whole transfer did not repair the data: another serial would change nothing, and a person must look.
	if wasWhole {
		e.Message += fmt.Sprintf("; it differs since serial %d, and transferring the zone whole has not helped: find out who else writes "+
			"the zone there, and transfer it anew (BIND: rndc retransfer %s)", since, plan.Zone)
	}
	return e, !wasWhole
}
