// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
)

const (
	memberShare = 20 // see WatchMembers
	memberAsks  = 200
	memberAge   = 10 * time.Minute
	maxBackoff  = 10 * time.Minute
)

type memberWatch struct {
	state     zonesState
	checkedAt time.Time
	// lost has the members without a zone at the last check. A new member has none for a moment, so a second check
	// follows.
	lost           map[name.Name]int // the number of checks without the zone
	nextRetransfer time.Time
	backoff        time.Duration
}

// zonesState is named's zone count and catalog serials, or "". A lost zone changes either.
type zonesState string

// readZonesState returns a text that changes if named loses or gains a zone, or a catalog has another serial: "number
// of zones" and the serials. "" means an answer without the number.
func (a *Agent) readZonesState(ctx context.Context) (zonesState, error) {
	status, err := a.runCommand(ctx, "status")
	if err != nil {
		return "", err
	}
	catalogs, err := a.readCatalogs()
	if err != nil {
		return "", err
	}
	state := readLine(status, "number of zones")
	for _, catalog := range catalogs {
		if of, err := a.readStatus(ctx, catalog); state != "" && err == nil {
			state += " " + of.lines["serial"]
		}
	}
	return zonesState(state), nil
}

// WatchMembers lets BIND recreate lost zones of its catalogs. By itself, BIND compares its zones with a catalog only
// after a transfer of the catalog.
func (a *Agent) WatchMembers(ctx context.Context, ticks <-chan time.Time) {
	if a.config.CatalogsFile == "" {
		return
	}
	var watch memberWatch
	var notBefore time.Time
	for {
		select {
		case <-ticks:
		case <-ctx.Done():
			return
		}
		began := time.Now()
		if began.Before(notBefore) {
			continue
		}
		a.restoreMembers(ctx, &watch)
		// Pause, so that checks take at most 5 % of the time.
		notBefore = began.Add(memberShare * time.Since(began))
	}
}

// restoreMembers compares the members of the catalogs with named's zones, and lets named transfer the catalogs again if
// a member is lost in two checks. Errors only end the check, since the next tick repeats it. Only WatchMembers uses
// watch, so no lock is needed.
func (a *Agent) restoreMembers(ctx context.Context, watch *memberWatch) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()

	now := a.config.Now()

	// 1. Skip the comparison while nothing has changed.
	state, err := a.readZonesState(ctx)
	if err != nil {
		return
	}
	if state != "" && state == watch.state && len(watch.lost) == 0 && now.Sub(watch.checkedAt) < memberAge {
		return
	}

	// 2. Ask for each member, then for the status of those without an answer.
	members, missing, lacking := a.listMissing(ctx)
	if ctx.Err() != nil {
		return // an unanswered query is no loss
	}

	// A zone that returns while its catalog is compared is loaded, but not in the count: the same count after its next
	// loss would hide this loss. /ready reports a missing catalog.
	watch.state = ""
	if after, err := a.readZonesState(ctx); err == nil && after == state && lacking == nil {
		watch.state, watch.checkedAt = state, now
	}

	before := watch.lost
	watch.lost = map[name.Name]int{}
	again := false

	// Random order, so that zones that never load do not displace others.
	rand.Shuffle(len(missing), func(i, j int) { missing[i], missing[j] = missing[j], missing[i] })
	// First the members lost before: their second check decides.
	slices.SortStableFunc(missing, func(x, y expectedZone) int { return cmp.Compare(before[y.name], before[x.name]) })

	for _, zone := range missing[:min(len(missing), memberAsks)] {
		var refused *problem
		// A member without content is not lost: its transfer may be pending, or the primary withholds it.
		if _, err := a.readStatus(ctx, zone.name); errors.As(err, &refused) && refused.status == http.StatusNotFound {
			watch.lost[zone.name] = before[zone.name] + 1
			again = again || before[zone.name] > 0
		}
	}

	// 3. Transfer the catalogs again, at growing intervals.
	switch {
	case len(watch.lost) == 0:
		watch.nextRetransfer, watch.backoff = time.Time{}, 0
	case again && !now.Before(watch.nextRetransfer):
		a.config.Logger.Warn("named has no zone of members of its catalogs; it transfers the catalogs again", "members", len(watch.lost))
		for catalog := range members.catalogs {
			if _, err := a.runCommand(ctx, "retransfer "+quoteZone(catalog)); err != nil {
				a.config.Logger.Warn("named did not transfer a catalog again", "zone", catalog, "err", err)
			}
		}
		// A member that named can never add must not cause transfers for ever.
		watch.backoff = min(max(2*watch.backoff, time.Minute), maxBackoff)
		watch.nextRetransfer = now.Add(watch.backoff)
	}
}
