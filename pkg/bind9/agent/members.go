// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
)

const (
	// memberShare: looks at the members of catalogs take at most one part in so many of the time.
	memberShare = 20
	// memberAsks is of how many members that do not answer named is asked at each look whether it has a zone.
	memberAsks = 200
	// memberAge is after which time members are asked for though named has as many zones as before.
	memberAge = 10 * time.Minute
	// memberRest is the longest time between two transfers of catalogs by which a zone did not come back.
	memberRest = 10 * time.Minute
)

// memberWatch is what is known of the members of catalogs.
type memberWatch struct {
	// state is what named said of its zones before the members were asked for, which was at looked.
	state  zonesState
	looked time.Time
	// lost had no zone then. A member that has just come into a catalog may have none for a moment.
	lost map[name.Name]bool
	// next is when the catalogs may be transferred again, rest the time that this was put off for.
	next time.Time
	rest time.Duration
}

// zonesState is named's number of zones and the serials of its catalogs, as it says them. A zone that is lost changes
// the number, unless one has come meanwhile, by a catalog that has another serial then. "": named does not say.
type zonesState string

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

// WatchMembers has named make zones of its catalogs again that it has lost, as by rndc delzone, until ctx ends. named
// compares its zones with a catalog when it has transferred that, and a catalog that does not change it does not
// transfer. It looks at ticks, and leaves out some where a look takes long.
func (a *Agent) WatchMembers(ctx context.Context, ticks <-chan time.Time) {
	if a.config.CatalogsFile == "" {
		return
	}
	var watch memberWatch
	var after time.Time
	for {
		select {
		case <-ticks:
		case <-ctx.Done():
			return
		}
		began := time.Now()
		if began.Before(after) {
			continue
		}
		a.restoreMembers(ctx, &watch)
		after = began.Add(memberShare * time.Since(began))
	}
}

// restoreMembers transfers the catalogs anew where a member has no zone, now and at the look before. Members are asked
// for where the state of the zones is another one than at the look before.
func (a *Agent) restoreMembers(ctx context.Context, watch *memberWatch) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	now := a.config.Now()
	state, err := a.readZonesState(ctx)
	if err != nil {
		return
	}
	if state != "" && state == watch.state && len(watch.lost) == 0 && now.Sub(watch.looked) < memberAge {
		return
	}
	members, missing, lacking := a.listMissing(ctx)
	if ctx.Err() != nil {
		return // what was not asked is not known to be there
	}
	if lacking == nil { // a catalog that named does not have is one for /ready, and its members are asked for next time
		watch.state, watch.looked = state, now
	}
	before := watch.lost
	watch.lost = map[name.Name]bool{}
	again := false
	// In any order: zones that are configured and not loaded must not keep the others from their turn.
	rand.Shuffle(len(missing), func(i, j int) { missing[i], missing[j] = missing[j], missing[i] })
	slices.SortStableFunc(missing, func(x, y expectedZone) int {
		switch {
		case before[x.name] == before[y.name]:
			return 0
		case before[x.name]:
			return -1
		}
		return 1
	})
	for _, zone := range missing[:min(len(missing), memberAsks)] {
		var refused *problem
		if _, err := a.readStatus(ctx, zone.name); errors.As(err, &refused) && refused.status == http.StatusNotFound {
			watch.lost[zone.name] = true
			again = again || before[zone.name]
		}
	}
	switch {
	case len(watch.lost) == 0:
		watch.next, watch.rest = time.Time{}, 0
	case again && !now.Before(watch.next):
		a.config.Logger.Warn("named has no zone of members of its catalogs; it transfers the catalogs again", "members", len(watch.lost))
		for catalog := range members.catalogs {
			if _, err := a.runCommand(ctx, "retransfer "+quoteZone(catalog)); err != nil {
				a.config.Logger.Warn("named did not transfer a catalog again", "zone", catalog, "err", err)
			}
		}
		watch.rest = min(max(2*watch.rest, time.Minute), memberRest)
		watch.next = now.Add(watch.rest)
	}
}
