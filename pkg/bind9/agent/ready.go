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
	"kubi.zone/kubizone/pkg/transfer"
)

// readyAge is how long the result of one look at named is answered: the path is open to all, and must cost named
// nothing.
const readyAge = time.Second

// readiness is the last look at named.
type readiness struct {
	mu     sync.Mutex
	looked time.Time
	last   protocol.Ready
	// loading is guarded by mu too.
	loading loading
}

// serveReady answers 503 unless all checks pass (A3).
func (a *Agent) serveReady(job *work) (int, any, error) {
	ready := a.lookReady(job.request.Context())
	if !ready.Ready {
		return http.StatusServiceUnavailable, ready, nil
	}
	return http.StatusOK, ready, nil
}

func (a *Agent) lookReady(ctx context.Context) protocol.Ready {
	a.ready.mu.Lock()
	defer a.ready.mu.Unlock()
	if now := a.config.Now(); a.ready.looked.IsZero() || now.Sub(a.ready.looked) >= readyAge || now.Before(a.ready.looked) {
		// A prober that has gone leaves its result to the next one.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTime)
		defer cancel()
		a.ready.last = protocol.Ready{Ready: true}
		note := func(what string, err error) {
			result := "ok"
			if err != nil {
				a.config.Logger.Warn("not ready", "check", what, "err", err)
				result, a.ready.last.Ready = "error", false
			}
			a.ready.last.Checks = append(a.ready.last.Checks, what+": "+result)
		}
		note("zone_dir", a.files.checkWritable())
		status, err := a.runCommand(ctx, "status")
		note("rndc", err)
		_, err = a.queryRRset(ctx, name.Root, rdata.SOA)
		note("dns", err)
		if a.ready.last.Ready {
			note("zones", a.checkZones(ctx, status))
		}
		if a.config.ConfigDir != "" {
			a.ready.last.Checks = append(a.ready.last.Checks, "config: "+a.loaded.check())
			// One that named has loaded serves on while the next one is refused: a wrong file that all servers get at
			// once must not take all of them away.
			a.ready.last.Ready = a.ready.last.Ready && a.loaded.hash() != ""
		}
		a.ready.looked = a.config.Now()
	}
	return a.ready.last
}

const (
	// loadTime is how long after its start named is held to every expected zone. Then loadShare of a hundred will do.
	loadTime  = 2 * time.Minute
	loadShare = 99
	// waitTime is how long after its start named is held to more zones than that while its primary may still hand them
	// out. A tenant can have its zones withheld, as by a pause, and that must keep no server from the zones of others.
	waitTime = 5 * time.Minute
	// askers ask for zones at once, and answerTime bounds the answer to one question: named is on the same host.
	askers     = 16
	answerTime = time.Second
	// maxCatalogs bounds the file that names catalogs, maxCatalog the transfer of one from named, in octets.
	maxCatalogs, maxCatalog = 1 << 20, 256 << 20
	// refreshes is for how many missing zones named is told to ask at each look.
	refreshes = 16
	// namedInLog is how many of the zones that are missing the log names.
	namedInLog = 5
)

// readyTime bounds one look at named.
const readyTime = 5 * time.Second

// loading is how far named is with the zones that are expected of it since it was started. named that had them once is
// not asked again before its next start: a zone that is lost later, or a catalog that comes later and cannot be
// transferred, concerns one class, and a server that is not ready answers for none.
type loading struct {
	boot   string // what named says of its start
	done   bool
	loaded map[name.Name]bool
	// came is when the last of these was found loaded, at first when named was first looked at.
	came time.Time
}

// checkZones returns what named lacks of the zones that are expected of it. status is what it says of itself.
func (a *Agent) checkZones(ctx context.Context, status string) error {
	l := &a.ready.loading
	boot := readLine(status, "boot time")
	if boot != l.boot {
		*l = loading{boot: boot, loaded: map[name.Name]bool{}, came: a.config.Now()}
	}
	if l.done {
		return nil
	}
	expected, lacking := a.listExpected(ctx, false)
	zones := expected.zones
	have := func(zone expectedZone) bool { return l.loaded[zone.name] }
	missing := slices.DeleteFunc(slices.Clone(zones), have)
	before := len(l.loaded)
	a.askForZones(ctx, missing, l.loaded)
	missing = slices.DeleteFunc(missing, have)
	if len(l.loaded) > before {
		l.came = a.config.Now()
	}
	started, err := time.Parse(http.TimeFormat, boot)
	since := a.config.Now().Sub(started)
	late := err != nil || since >= loadTime
	enough := len(missing)*100 <= len(zones)*(100-loadShare)
	// A primary that confirms a catalog loadTime after the last zone came withholds the others. named that has no zone
	// at all waits on: a primary without room for transfers must not have every server replaced by an empty one.
	withheld := since >= waitTime && len(missing) < len(zones) && a.confirmedAt(ctx, expected.catalogs).Sub(l.came) >= loadTime
	switch {
	case len(missing) == 0 && lacking == nil, late && enough && (expected.sources > 0 || lacking == nil), withheld:
		l.done = true
		if len(missing) > 0 || lacking != nil {
			a.config.Logger.Warn("ready without some zones", "loaded", len(zones)-len(missing), "missing", len(missing),
				"some", formatZones(missing), "err", lacking)
		}
		return nil
	}
	a.refreshZones(ctx, missing, lacking != nil || late)
	return errors.Join(lacking, fmt.Errorf("%d of %d zones are loaded, missing are %s", len(zones)-len(missing), len(zones),
		formatZones(missing)))
}

// refreshZones has named ask its primary for zones that it lacks, and for its catalogs. A server that is not ready gets
// no NOTIFY, since its Service has no pod for it, and named asks by itself after a minute at first and after hours at
// last.
func (a *Agent) refreshZones(ctx context.Context, missing []expectedZone, catalogs bool) {
	var zones []name.Name
	if catalogs {
		zones, _ = a.readCatalogs()
	}
	// In any order: zones that the primary withholds must not keep the others from their turn.
	for _, at := range rand.Perm(len(missing))[:min(len(missing), refreshes)] {
		if missing[at].listed {
			zones = append(zones, missing[at].name)
		}
	}
	for _, zone := range zones {
		if _, err := a.runCommand(ctx, "refresh "+quoteZone(zone)); err != nil {
			a.config.Logger.Debug("named did not ask for a zone", "zone", zone, "err", err)
		}
	}
}

// confirmedAt returns when a primary last confirmed one of the catalogs, the zero time where none did. named says when
// a zone expires, which is as long after that as its SOA allows.
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

// readLine returns what named says after a word of its status, "" for nothing. "boot time" is another text after each
// start, RFC 9110's form of a time.
func readLine(status, word string) string {
	for line := range strings.Lines(status) {
		if text, is := strings.CutPrefix(line, word+": "); is {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

// expectedZone is a zone that named shall have loaded.
type expectedZone struct {
	name name.Name
	// listed: a catalog has it. Else named may have been told meanwhile that the zone is gone.
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

// expectation is what named shall have loaded.
type expectation struct {
	zones []expectedZone
	// sources is how many catalogs named has, and one more for zones of the agent.
	sources int
	// catalogs are those that named has, with the time in which their SOA has them expire.
	catalogs map[name.Name]time.Duration
}

// listExpected returns the zones that named shall have loaded: those of which the agent made a file that has content,
// and the members of catalogs as named has them, from its disk at first. A member that not all servers of the fleet had
// yet may be one that none can load, so it is not expected (dns.UnconfirmedTTL) unless unconfirmed says so. lacking
// says which catalog cannot be read.
func (a *Agent) listExpected(ctx context.Context, unconfirmed bool) (of expectation, lacking error) {
	made, err := a.files.listZones(zoneKind)
	if err != nil {
		return of, err
	}
	for zone := range made {
		of.zones = append(of.zones, expectedZone{name: zone})
	}
	catalogs, err := a.readCatalogs()
	if err != nil || len(catalogs) == 0 {
		return of, err
	}
	if len(made) > 0 {
		of.sources++
	}
	key, err := a.config.TSIGKey()
	if err != nil {
		return of, fmt.Errorf("key of transfers: %w", err)
	}
	of.catalogs = map[name.Name]time.Duration{}
	for _, catalog := range catalogs {
		members, expire, err := transferMembers(ctx, transfer.Source{Server: a.config.Nameserver, Zone: catalog, Key: &key, Wait: readyTime,
			Most: maxCatalog}, unconfirmed)
		if err != nil {
			lacking = errors.Join(lacking, err)
			continue
		}
		of.sources++
		of.catalogs[catalog] = expire
		for _, zone := range members {
			of.zones = append(of.zones, expectedZone{zone, true})
		}
	}
	return of, lacking
}

// serveMembers says how far named is with the zones of its catalogs, each of which counts, and has named ask for those
// that are missing: the Service of such a server has no pod of it, so no NOTIFY comes. A catalog that named does
// not have is no answer.
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

// listMissing returns the members of named's catalogs, and those of them for which it does not answer. lacking is that
// of listExpected.
func (a *Agent) listMissing(ctx context.Context) (members expectation, missing []expectedZone, lacking error) {
	members, lacking = a.listExpected(ctx, true)
	members.zones = slices.DeleteFunc(members.zones, func(zone expectedZone) bool { return !zone.listed })
	loaded := map[name.Name]bool{}
	a.askForZones(ctx, members.zones, loaded)
	missing = slices.DeleteFunc(slices.Clone(members.zones), func(zone expectedZone) bool { return loaded[zone.name] })
	return members, missing, lacking
}

// readCatalogs reads the names of catalogs, one a line.
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

// transferMembers returns the members of a catalog (RFC 9432 §4.3), those that are unconfirmed only where this is
// asked, and the time in which the SOA of the catalog has it expire.
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
		if label, found := strings.CutSuffix(mdns.CanonicalName(pointer.Hdr.Name), below); !found || strings.Contains(label, ".") {
			return
		}
		if zone, err := name.Parse(pointer.Ptr); err == nil {
			members = append(members, zone)
		}
	})
	return members, expire, err
}

// askForZones notes which of the zones named has loaded.
func (a *Agent) askForZones(ctx context.Context, zones []expectedZone, loaded map[name.Name]bool) {
	var mu sync.Mutex
	next := make(chan expectedZone)
	var asking sync.WaitGroup
	for range min(askers, len(zones)) {
		asking.Go(func() {
			conn, err := new(net.Dialer).DialContext(ctx, "udp", a.config.Nameserver)
			if err != nil {
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
			break // the next look goes on with what is missing then
		}
		next <- zone
	}
	close(next)
	asking.Wait()
}

// askForZone reports whether the server at conn answers for the zone with authority, or, where no catalog lists the
// zone, has none of this name. A zone that is not loaded yet, was never transferred or has expired is SERVFAIL.
func askForZone(ctx context.Context, conn net.Conn, zone expectedZone) bool {
	question := new(mdns.Msg)
	question.SetQuestion(zone.name.String(), mdns.TypeSOA)
	question.RecursionDesired = false
	if err := conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return false
	}
	answer, err := transfer.Exchange(ctx, conn, question, nil)
	switch {
	case err != nil:
		return false
	case !zone.listed:
		return answer.Rcode != mdns.RcodeServerFailure
	}
	return answer.Rcode == mdns.RcodeSuccess && answer.Authoritative &&
		slices.ContainsFunc(answer.Answer, func(rr mdns.RR) bool { return rr.Header().Rrtype == mdns.TypeSOA })
}
