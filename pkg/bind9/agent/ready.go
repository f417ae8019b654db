// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/transfer"
)

// readyAge is the lifetime of a result, because every client of the network may request /ready.
const readyAge = time.Second

type readiness struct {
	mu        sync.Mutex
	checkedAt time.Time
	result    protocol.Ready
	loading   loading
}

func (a *Agent) serveReady(job *work) (int, any, error) {
	ready := a.checkReady(job.request.Context())
	if !ready.Ready {
		return http.StatusServiceUnavailable, ready, nil
	}
	return http.StatusOK, ready, nil
}

// checkReady returns the result of /ready, at most readyAge old. Concurrent requests wait for a single check.
func (a *Agent) checkReady(ctx context.Context) protocol.Ready {
	a.ready.mu.Lock()
	defer a.ready.mu.Unlock()
	if a.config.Now().Sub(a.ready.checkedAt).Abs() >= readyAge { // also after the clock was set back
		// The result is also for the next prober, so the check outlives this request.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTime)
		defer cancel()
		a.ready.result = protocol.Ready{Ready: true}
		// note adds a check to the result. A failed check makes the result unready.
		note := func(what string, err error) {
			result := "ok"
			if err != nil {
				a.config.Logger.Warn("not ready", "check", what, "err", err)
				result, a.ready.result.Ready = "error", false
			}
			a.ready.result.Checks = append(a.ready.result.Checks, what+": "+result)
		}
		note("zone_dir", a.files.checkWritable())
		status, err := a.runCommand(ctx, "status")
		note("rndc", err)
		_, err = a.queryRRset(ctx, name.Root, rdata.SOA)
		note("dns", err)
		// Zones cost many queries, so they follow only if named answers at all.
		if a.ready.result.Ready {
			note("zones", a.checkZones(ctx, status))
		}
		if a.config.ConfigDir != "" {
			a.ready.result.Checks = append(a.ready.result.Checks, "config: "+a.loaded.check())
			// A new invalid configuration must not make all servers unready.
			a.ready.result.Ready = a.ready.result.Ready && a.loaded.hash() != ""
		}
		a.ready.checkedAt = a.config.Now()
	}
	return a.ready.result
}

const (
	// For loadTime after its start, named is ready only with every expected zone, then with loadShare percent.
	loadTime  = 2 * time.Minute
	loadShare = 99
	// After waitTime, named is ready without zones withheld by the primary, such as paused zones. Otherwise a tenant
	// could keep a server with others' zones unready.
	waitTime                = 5 * time.Minute
	askers                  = 16
	answerTime              = time.Second
	maxCatalogs, maxCatalog = 1 << 20, 256 << 20
	refreshes               = 16
	namedInLog              = 5
)

const readyTime = 5 * time.Second

// loading records the expected zones that named has loaded since its start. Once all were loaded, named is ready, and
// stays ready if a zone is lost later, because an unready server answers for no zone.
type loading struct {
	// boot is the start time in the output of `rndc status`. After a new start everything is counted again.
	boot string
	// done is true once named was ready: with all zones, or later with fewer (loadTime, waitTime).
	done   bool
	loaded map[name.Name]bool
	// lastLoadedAt is the time of the last check that found another zone loaded, at first the time of the first check.
	lastLoadedAt time.Time
}

// checkZones returns nil once named has enough zones, and for ever after until named starts again. Otherwise the error
// counts the missing zones. The caller holds ready.mu.
func (a *Agent) checkZones(ctx context.Context, status string) error {
	l := &a.ready.loading
	boot := readLine(status, "boot time")
	if boot != l.boot {
		*l = loading{boot: boot, loaded: map[name.Name]bool{}, lastLoadedAt: a.config.Now()}
	}

	if l.done {
		return nil
	}

	// 1. Ask named for the expected zones not loaded at the last check.
	expected, lacking := a.listExpected(ctx, false)
	zones := expected.zones
	have := func(zone expectedZone) bool { return l.loaded[zone.name] }
	missing := slices.DeleteFunc(slices.Clone(zones), have)
	before := len(l.loaded)
	a.askForZones(ctx, missing, l.loaded)
	missing = slices.DeleteFunc(missing, have)
	if len(l.loaded) > before {
		l.lastLoadedAt = a.config.Now()
	}

	// 2. Decide whether the missing zones may come later.
	started, err := time.Parse(http.TimeFormat, boot)
	since := a.config.Now().Sub(started)
	late := err != nil || since >= loadTime
	enough := len(missing)*100 <= len(zones)*(100-loadShare)
	// If a primary confirms a catalog although no zone was loaded for loadTime, it withholds the missing zones. A
	// server without any zone keeps waiting, not to replace a full server.
	withheld := since >= waitTime && len(missing) < len(zones) && a.confirmedAt(ctx, expected.catalogs).Sub(l.lastLoadedAt) >= loadTime

	switch hasAll := len(missing) == 0 && lacking == nil; {
	// All zones; or nearly all after two minutes; or only zones that the primary withholds after five.
	case hasAll, late && enough && (expected.sources > 0 || lacking == nil), withheld:
		l.done = true
		if !hasAll {
			a.config.Logger.Warn("ready without some zones", "loaded", len(zones)-len(missing), "missing", len(missing),
				"some", formatZones(missing), "err", lacking)
		}
		return nil
	}

	// 3. Let named hurry with the others.
	a.refreshZones(ctx, missing, lacking != nil || late)
	return errors.Join(lacking, fmt.Errorf("%d of %d zones are loaded, missing are %s", len(zones)-len(missing), len(zones),
		formatZones(missing)))
}

// refreshZones lets named query the primary for some missing members, chosen at random, and for the catalogs themselves
// if catalogs is true. Errors are only logged.
func (a *Agent) refreshZones(ctx context.Context, missing []expectedZone, catalogs bool) {
	var zones []name.Name
	if catalogs {
		zones, _ = a.readCatalogs()
	}

	for _, at := range rand.Perm(len(missing))[:min(len(missing), refreshes)] {
		// A primary zone of the agent has no primary to ask.
		if missing[at].listed {
			zones = append(zones, missing[at].name)
		}
	}

	// named retries only after minutes or hours, and an unready pod gets no NOTIFY, because no Service selects it.
	for _, zone := range zones {
		if _, err := a.runCommand(ctx, "refresh "+quoteZone(zone)); err != nil {
			a.config.Logger.Debug("named did not ask for a zone", "zone", zone, "err", err)
		}
	}
}

// confirmedAt returns when a primary last answered for one of the catalogs, the zero time if never. named reports the
// end of a zone's validity, which is SOA expire after that answer.
func (a *Agent) confirmedAt(ctx context.Context, catalogs map[name.Name]time.Duration) (last time.Time) {
	for catalog, expire := range catalogs {
		status, err := a.readStatus(ctx, catalog)
		if err != nil {
			continue
		}
		expires, err := time.Parse(http.TimeFormat, status.lines["expires"])
		if at := expires.Add(-expire); err == nil && at.After(last) {
			last = at
		}
	}
	return last
}

func readLine(status, word string) string {
	for line := range strings.Lines(status) {
		if text, is := strings.CutPrefix(line, word+": "); is {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

type expectedZone struct {
	name name.Name
	// listed is true for a member of a catalog. Other zones may have been removed meanwhile.
	listed bool
}

func formatZones(zones []expectedZone) string {
	var some []string
	for _, zone := range zones[:min(len(zones), namedInLog)] {
		some = append(some, zone.name.String())
	}
	if len(zones) > namedInLog {
		some = append(some, "and others")
	}
	return strings.Join(some, ", ")
}

type expectation struct {
	zones    []expectedZone
	sources  int
	catalogs map[name.Name]time.Duration
}

// listExpected returns the zones that named should have, which are those with a file of the agent, and the members of
// catalogs. A catalog that cannot be read is left out, and catalogErr says why. If includeUnconfirmed is true, the
// result also has members never loaded by some server, which may never load.
func (a *Agent) listExpected(ctx context.Context, includeUnconfirmed bool) (expected expectation, catalogErr error) {
	ownZones, err := a.files.listZones(zoneKind)
	if err != nil {
		return expected, err
	}
	for zone := range ownZones {
		expected.zones = append(expected.zones, expectedZone{name: zone})
	}

	catalogs, err := a.readCatalogs()
	if err != nil || len(catalogs) == 0 {
		return expected, err
	}
	// sources counts the readable lists of zones. With any source, an unreadable catalog delays the server for two
	// minutes only.
	if len(ownZones) > 0 {
		expected.sources++
	}

	key, err := a.config.TSIGKey()
	if err != nil {
		return expected, fmt.Errorf("key of transfers: %w", err)
	}

	expected.catalogs = map[name.Name]time.Duration{}
	for _, catalog := range catalogs {
		members, expire, err := transferMembers(ctx, transfer.Source{Server: a.config.Nameserver, Zone: catalog, Key: &key, Wait: readyTime,
			Limit: maxCatalog}, includeUnconfirmed)
		if err != nil {
			// A tenant's broken catalog must not hide the zones of the others.
			catalogErr = errors.Join(catalogErr, err)
			continue
		}
		expected.sources++
		expected.catalogs[catalog] = expire
		for _, zone := range members {
			expected.zones = append(expected.zones, expectedZone{name: zone, listed: true})
		}
	}
	return expected, catalogErr
}

func (a *Agent) serveMembers(job *work) (int, any, error) {
	ctx := job.request.Context()
	members, missing, lacking := a.listMissing(ctx)
	if lacking != nil {
		a.refreshZones(ctx, nil, true)
		return 0, nil, unavailable(lacking, "named has not all of its catalogs")
	}
	a.refreshZones(ctx, missing, false)
	return http.StatusOK, protocol.Members{Zones: len(members.zones), Missing: len(missing), Some: formatZones(missing)}, nil
}

func (a *Agent) listMissing(ctx context.Context) (members expectation, missing []expectedZone, lacking error) {
	members, lacking = a.listExpected(ctx, true)
	members.zones = slices.DeleteFunc(members.zones, func(zone expectedZone) bool { return !zone.listed })
	loaded := map[name.Name]bool{}
	a.askForZones(ctx, members.zones, loaded)
	missing = slices.DeleteFunc(slices.Clone(members.zones), func(zone expectedZone) bool { return loaded[zone.name] })
	return members, missing, lacking
}

// readCatalogs returns the catalog zones in the file, read again for each check, because the fleet changes the file.
func (a *Agent) readCatalogs() ([]name.Name, error) {
	if a.config.CatalogsFile == "" {
		return nil, nil
	}
	file, err := os.Open(a.config.CatalogsFile)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var catalogs []name.Name
	for lines := bufio.NewScanner(io.LimitReader(file, maxCatalogs)); lines.Scan(); {
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		catalog, err := name.Parse(strings.TrimSuffix(text, ".") + ".")
		if err != nil {
			return nil, fmt.Errorf("%s: catalog zone %q: %w", a.config.CatalogsFile, text, err)
		}
		catalogs = append(catalogs, catalog)
	}
	return catalogs, nil
}

// transferMembers transfers a catalog zone from named, and returns its members and the SOA's expire. Members with the
// TTL UnconfirmedTTL are left out unless unconfirmed is true.
func transferMembers(ctx context.Context, source transfer.Source, unconfirmed bool) (members []name.Name, expire time.Duration, err error) {
	below := "." + strings.TrimPrefix("zones."+source.Zone.String(), ".")
	_, err = transfer.Fetch(ctx, source, nil, func(rr mdns.RR, _ bool) {
		if soa, is := rr.(*mdns.SOA); is {
			expire = time.Duration(soa.Expire) * time.Second
		}
		pointer, is := rr.(*mdns.PTR)
		if !is || pointer.Hdr.Ttl == dns.UnconfirmedTTL && !unconfirmed {
			return
		}
		// Members are the PTR at LABEL.zones.CATALOG (RFC 9432). PTR deeper down are properties.
		if label, found := strings.CutSuffix(mdns.CanonicalName(pointer.Hdr.Name), below); !found || strings.Contains(label, ".") {
			return
		}
		if zone, err := name.Parse(pointer.Ptr); err == nil {
			members = append(members, zone)
		}
	})
	return members, expire, err
}

// askForZones asks named for the SOA of each zone, and adds the served zones to loaded. The goroutines share loaded
// under mu, and the caller reads the map after the last has ended.
func (a *Agent) askForZones(ctx context.Context, zones []expectedZone, loaded map[name.Name]bool) {
	var mu sync.Mutex
	next := make(chan expectedZone)
	var asking sync.WaitGroup
	for range min(askers, len(zones)) {
		asking.Go(func() {
			conn, err := new(net.Dialer).DialContext(ctx, "udp", a.config.Nameserver)
			if err != nil {
				// Without a socket this goroutine drains the channel, or the sender would block.
				for range next {
				}
				return
			}
			defer conn.Close()
			for zone := range next {
				if askForZone(ctx, conn, zone) {
					mu.Lock()
					loaded[zone.name] = true
					mu.Unlock()
				}
			}
		})
	}
	for _, zone := range zones {
		if ctx.Err() != nil {
			break // the next check continues
		}
		next <- zone
	}
	close(next)
	asking.Wait()
}

func askForZone(ctx context.Context, conn net.Conn, zone expectedZone) bool {
	question := new(mdns.Msg)
	question.SetQuestion(zone.name.String(), mdns.TypeSOA)
	question.RecursionDesired = false
	if err := conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return false
	}
	// named answers SERVFAIL for a zone that is not loaded, never transferred, or expired.
	answer, err := transfer.Exchange(ctx, conn, question, nil)
	switch {
	case err != nil:
		return false
	// A zone made by a client may be removed since the list: REFUSED is fine, and only SERVFAIL means not loaded.
	case !zone.listed:
		return answer.Rcode != mdns.RcodeServerFailure
	}
	return answer.Rcode == mdns.RcodeSuccess && answer.Authoritative &&
		slices.ContainsFunc(answer.Answer, func(rr mdns.RR) bool { return rr.Header().Rrtype == mdns.TypeSOA })
}
