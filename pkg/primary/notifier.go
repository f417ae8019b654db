// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/kit/traces"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

const (
	maxNotifyBackoff = time.Minute // RFC 1996 §3.6
	// notifiesPerTarget limits the sockets that NOTIFYs to an unreachable target keep open.
	notifiesPerTarget = 32
)

type notifier struct {
	config     *Config
	classes    *classes
	listenAddr netip.Addr
	counters   *counters
	log        klog.Logger
	done       sync.WaitGroup

	// Only runNotifier uses announcements and names.
	announcements map[servedName]map[Target]announcement
	names         map[classUID]name.Name

	mu      sync.Mutex
	targets map[Target]*targetState
	pending map[pendingKey]*pendingNotify
	// failing has the last answer of each target that did not confirm its last NOTIFY for a zone.
	failing map[pendingKey]failing
}

// targetState is the state that the zones of a target share. A target without zones has none, because a tenant may name
// other targets in each version of a class.
type targetState struct {
	zones int // the number of announcements
	// The limits bound the NOTIFYs in flight. Those of a catalog do not wait behind those of its zones.
	zoneLimit, catalogLimit chan struct{}
	down                    bool // the target does not confirm, and the log has a line about this
}

// failing is the last of an unbroken series of answers that confirm nothing, which began at since.
type failing struct {
	answer      string
	from        netip.Addr
	since, last time.Time
}

func newNotifier(c *Config, of *classes, counters *counters, log klog.Logger, served netip.AddrPort) *notifier {
	return &notifier{
		config: c, classes: of, listenAddr: served.Addr(), counters: counters, log: log,
		announcements: map[servedName]map[Target]announcement{}, names: map[classUID]name.Name{},
		targets: map[Target]*targetState{}, pending: map[pendingKey]*pendingNotify{}, failing: map[pendingKey]failing{},
	}
}

// servedName identifies a zone by class and name, because the zones of a name may differ between classes.
type servedName struct {
	class *Class
	fqdn  name.Name
}

type announcement struct {
	uid    string
	serial serial.Serial
}

type pendingKey struct {
	servedName
	target Target
}

type pendingNotify struct {
	notification *notification // the newest; nil if there is none to send
	wake         chan struct{}
}

// isOpen reports whether a NOTIFY is sent, or still to be sent. The caller holds notifier.mu.
func (h *pendingNotify) isOpen() bool { return h != nil && h.notification != nil }

// runNotifier sends NOTIFYs until ctx ends. It begins with every zone, because a secondary may have missed changes.
func (n *notifier) runNotifier(ctx context.Context) {
	defer n.done.Wait()

	// Subscribe before All, to miss no change.
	events, end := n.classes.zones.Subscribe()
	defer end()

	catalogs, endCatalogs := n.classes.catalogs.Subscribe()
	defer endCatalogs()

	for s := range n.classes.zones.All() {
		n.announceInClasses(ctx, s.Zone().UID)
	}
	for s := range n.classes.catalogs.All() {
		n.announceInClasses(ctx, s.Zone().UID)
	}

	for {
		select {
		case e, open := <-events:
			if !open {
				<-ctx.Done()
				return
			}
			n.announceInClasses(ctx, e.Zone.UID)
		case e := <-catalogs:
			n.announceInClasses(ctx, e.Zone.UID)
		case <-n.classes.changes.wakeNotifier:
			n.announceChanges(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// announceChanges starts the NOTIFYs for the zones in the queue. Only runNotifier calls the functions named announce,
// so announcements and names need no lock.
func (n *notifier) announceChanges(ctx context.Context) {
	for at, again := range n.classes.changes.takePending() {
		switch {
		case at.class == nil:
			n.announceInClasses(ctx, at.uid)
		case at.uid == "":
			n.announceClass(ctx, at.class)
		default:
			if again {
				// Forget the confirmed serial, so that the NOTIFY goes out again.
				sent := n.announcements[servedName{at.class, n.names[at]}]
				for target := range sent {
					sent[target] = announcement{}
				}
			}
			n.announceInClass(ctx, at.class, at.uid)
		}
	}
}

func (n *notifier) announceClass(ctx context.Context, class *Class) {
	for at := range n.names {
		if at.class == class {
			n.announceInClass(ctx, class, at.uid)
		}
	}
	for _, uid := range class.uids() {
		n.announceInClass(ctx, class, uid)
	}
}

func (n *notifier) announceInClasses(ctx context.Context, uid string) {
	for _, class := range n.classes.registry.Load().classes {
		n.announceInClass(ctx, class, uid)
	}
}

// announceInClass starts the NOTIFYs for a zone, known by UID, in a class. After a renaming or removal, the former name
// is looked at too.
func (n *notifier) announceInClass(ctx context.Context, class *Class, uid string) {
	at := classUID{class, uid}
	before, known := n.names[at]

	// Nothing is sent without targets, so keep no name of the zone.
	if !known && len(class.targets()) == 0 {
		return
	}

	now := class.nameOf(uid)
	if now.IsZero() {
		delete(n.names, at)
	} else {
		n.names[at] = now
	}

	// A zone of another view may have the former name now.
	if known && before != now {
		n.announceName(ctx, servedName{class, before})
	}
	if !now.IsZero() {
		n.announceName(ctx, servedName{class, now})
	}
}

// announceName starts a NOTIFY to each target of a name without the current zone and serial. A NOTIFY in progress gets
// the newer serial instead (guarantee 5).
func (n *notifier) announceName(ctx context.Context, at servedName) {
	s, served := at.class.findZone(at.fqdn, true)
	var targets []Target
	if served {
		targets = at.class.targetsOf(at.fqdn)
	}

	// Stop the NOTIFYs to former targets, and all of them if the class no longer serves the name.
	n.forgetTargets(at, targets)
	if len(targets) == 0 {
		return
	}

	// Start or refresh those of the present targets.
	latest := announcement{uid: s.Zone().UID, serial: s.Serial()}
	current := &notification{fqdn: at.fqdn, serial: s.Serial()}
	current.soa, _ = s.PackedSOA()
	if n.announcements[at] == nil {
		n.announcements[at] = map[Target]announcement{}
	}

	n.mu.Lock()
	defer n.mu.Unlock()
	for _, target := range targets {
		before, known := n.announcements[at][target]
		if !known {
			n.addZone(target)
		}

		// The target was told this serial, for example before an event without a new serial.
		if before == latest {
			continue
		}

		n.announcements[at][target] = latest
		k := pendingKey{at, target}
		current := n.withTraces(current, s, before, k)

		// A goroutine sends to this target already, and takes the newest notification.
		if h := n.pending[k]; h != nil {
			h.notification = current
			wake(h.wake)
			continue
		}

		limit := n.targets[target].zoneLimit
		if at.class.isCatalog(at.fqdn) {
			limit = n.targets[target].catalogLimit
		}

		// The goroutine owns its attempts and delays. mu guards the notification, which announceName replaces.
		h := &pendingNotify{notification: current, wake: make(chan struct{}, 1)}
		n.pending[k] = h
		n.done.Go(func() { n.sendPending(ctx, k, h, limit) })
	}
}

// addZone counts a zone of a target. The caller holds mu.
func (n *notifier) addZone(target Target) {
	if n.targets[target] == nil {
		n.targets[target] = &targetState{
			zoneLimit: make(chan struct{}, notifiesPerTarget), catalogLimit: make(chan struct{}, notifiesPerTarget),
		}
	}
	n.targets[target].zones++
}

// removeZone is the opposite of addZone. The caller holds mu.
func (n *notifier) removeZone(target Target) {
	state := n.targets[target]
	if state.zones--; state.zones == 0 {
		delete(n.targets, target)
	}
}

// withTraces returns the notification with the traces of all writes unknown to the target, those of a replaced
// notification included. The caller holds mu.
func (n *notifier) withTraces(w *notification, s *zoneview.Snapshot, before announcement, k pendingKey) *notification {
	// Another Zone has the name now, so serials of the former mean nothing.
	if before.uid != s.Zone().UID {
		before.serial = 0
	}

	since := n.classes.tracesOf(s, before.serial)
	if h := n.pending[k]; h != nil && h.notification != nil && len(h.notification.traces) > 0 {
		since = append(slices.Clone(h.notification.traces), since...)
	}

	if len(since) == 0 {
		return w
	}
	// w is shared by all targets.
	traced := *w
	traced.traces = traces.Join(nil, since...)
	return &traced
}

// forgetTargets stops the NOTIFYs for a name to targets missing in keep. A goroutine in progress ends at its next step.
func (n *notifier) forgetTargets(at servedName, keep []Target) {
	for target := range n.announcements[at] {
		if slices.Contains(keep, target) {
			continue
		}
		delete(n.announcements[at], target)
		n.mu.Lock()
		if h := n.pending[pendingKey{at, target}]; h != nil {
			h.notification = nil
		}
		delete(n.failing, pendingKey{at, target})
		n.removeZone(target)
		n.mu.Unlock()
	}
	if len(n.announcements[at]) == 0 {
		delete(n.announcements, at)
	}
}

// sendPending sends the NOTIFYs for a name to a target, until nothing is left to send or ctx ends. A serial gets at
// most NotifyAttempts, with doubling delays between. limit bounds the target's NOTIFYs in flight.
func (n *notifier) sendPending(ctx context.Context, k pendingKey, h *pendingNotify, limit chan struct{}) {
	c := n.config
	log := n.log.WithValues("zone", k.fqdn.String(), "target", k.target.Addr.String())
	attempts, backoff := 0, c.NotifyBackoff
	var last *notification
	span := traces.None
	defer func() { span.End() }()

	for {
		newest := n.nextNotification(k, h)
		if newest == nil {
			return
		}

		if newest != last {
			span.End()
			last, span = newest, n.classes.startSpan("NOTIFY", newest.traces, newest.fqdn, newest.serial, k.target.Addr)
		}

		// A dead server would otherwise hold a socket for each of 10,000 zones.
		select {
		case limit <- struct{}{}:
		case <-ctx.Done():
			return
		}

		// The slot is held while an answer may come, not during the delay.
		from, err := n.sendNotify(ctx, k.target, newest)
		<-limit
		if ctx.Err() != nil {
			return
		}

		n.noteAnswer(log, k, h, from, err)
		attempts++
		if err == nil || attempts == c.NotifyAttempts {
			traces.End(span, err != nil, "not confirmed")
			n.endAttempts(log, h, newest, attempts, err)
			attempts, backoff = 0, c.NotifyBackoff
			// By default, a busy zone is announced five times a second.
			if !sleep(ctx, c.NotifyInterval) {
				return
			}
			continue
		}

		log.V(1).Info("NOTIFY failed", "serial", uint32(newest.serial), "attempt", attempts, "err", err)
		timer := time.NewTimer(backoff)
		select {
		case <-timer.C:
			backoff = min(2*backoff, maxNotifyBackoff)
		// A new serial begins anew. The target may be back.
		case <-h.wake:
			attempts, backoff = 0, c.NotifyBackoff
			if !sleep(ctx, min(backoff, c.NotifyInterval)) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// nextNotification returns the newest notification, or nil if none is left. Then the caller must end, because
// announceName starts another goroutine from now on.
func (n *notifier) nextNotification(k pendingKey, h *pendingNotify) *notification {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-h.wake:
	default:
	}
	if h.notification == nil {
		delete(n.pending, k)
	}
	return h.notification
}

// noteAnswer keeps a target's last answer to a NOTIFY; err is nil for a confirmation. It logs a target without a
// confirmation for Config.NotifyFaultAfter, even if the answers differ (REFUSED, none, REFUSED), and the end. Attempts
// are no measure, because each change of the zone starts them anew.
func (n *notifier) noteAnswer(log klog.Logger, k pendingKey, h *pendingNotify, from netip.Addr, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if h.notification == nil { // meanwhile the zone or the target has left the class
		return
	}
	state := n.targets[k.target]
	if err == nil {
		delete(n.failing, k)
		if state.down {
			log.Info("Secondary confirms NOTIFY again")
		}
		state.down = false
		return
	}

	now := time.Now()
	latest := failing{answer: "Error", from: from, since: now, last: now}
	if refused := (*unconfirmed)(nil); errors.As(err, &refused) {
		latest.answer = refused.answer
	}
	// A series of Monday says nothing about a datagram that is lost on Wednesday.
	if before, known := n.failing[k]; known && now.Sub(before.last) < faultKept {
		latest.since = before.since
	}
	n.failing[k] = latest

	isFault := now.Sub(latest.since) >= n.config.NotifyFaultAfter
	if isFault && !state.down { // an unreachable target must not fill the log
		state.down = true
		log.Error(err, "Secondary does not confirm NOTIFY; its own refresh will find the serial. "+
			"The same of other zones is logged at level 1 until it confirms one", "from", from.String())
	}
}

// endAttempts ends the NOTIFYs for a serial, after a confirmation or the last attempt.
func (n *notifier) endAttempts(log klog.Logger, h *pendingNotify, w *notification, attempts int, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if h.notification == w {
		h.notification = nil
	}
	log = log.WithValues("serial", uint32(w.serial), "attempts", attempts)
	if err == nil {
		log.V(1).Info("Secondary notified")
	} else {
		log.V(1).Info("Secondary does not confirm NOTIFY", "err", err)
	}
}

// NotifyFault is a target that has not confirmed its NOTIFYs for a zone since a time.
type NotifyFault struct {
	Target Target
	// Zone is the zone, or the class's catalog zone.
	Zone name.Name
	// Answer is the RCODE (REFUSED), the TSIG error (BADKEY), NoAnswer, Unsigned, or Error for a fault of this process.
	Answer string
	// From is the local address of the NOTIFY; invalid if unknown.
	From  netip.Addr
	Since time.Time
}

// NotifyFaults returns, for each target of a zone of the class, why the target does not confirm NOTIFY: nil if it has
// confirmed the last NOTIFYs for the zone and for the class's catalog. A target is left out while the outcome is open,
// for Config.NotifyFaultAfter. A fault of the catalog precedes, because servers learn of a new zone by the catalog.
func (p *Primary) NotifyFaults(class *Class, uid string) map[Target]*NotifyFault {
	n, zone, catalog := p.notifier, class.nameOf(uid), class.catalogName()
	faults := map[Target]*NotifyFault{}
	if zone.IsZero() {
		return faults
	}
	targets := class.targetsOf(zone)
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, target := range targets {
		// An operator adds the zones at a target without the catalog.
		names := []name.Name{zone}
		if !catalog.IsZero() && !target.NoCatalog {
			names = []name.Name{catalog, zone}
		}
		if fault, known := n.findFault(class, target, names); known {
			faults[target] = fault
		}
	}
	return faults
}

// findFault returns the first fault of the names; known is false while the outcome for one of them is open. The caller
// holds mu.
func (n *notifier) findFault(class *Class, target Target, names []name.Name) (fault *NotifyFault, known bool) {
	known = true
	for _, fqdn := range names {
		k := pendingKey{servedName{class, fqdn}, target}
		found, fails := n.failing[k]
		if fails && time.Since(found.since) >= n.config.NotifyFaultAfter {
			return &NotifyFault{target, fqdn, found.answer, found.from, found.since}, true
		}
		if fails || n.pending[k].isOpen() {
			known = false
		}
	}
	return nil, known
}

// faultKept is the time for which a NOTIFY without confirmation counts after its last attempt. Zones of a class that
// wait are announced again each half minute.
const faultKept = 5 * time.Minute

// countFaults returns the number of zones by server and answer, for the first maxFaultServers of these pairs.
func (n *notifier) countFaults() map[NotifyAnswer]int {
	n.mu.Lock()
	counts := map[NotifyAnswer]int{}
	for k, one := range n.failing {
		// A zone whose NOTIFYs have ended counts for faultKept, so that a scrape each minute sees the fault.
		if one.last.Sub(one.since) >= n.config.NotifyFaultAfter && time.Since(one.last) < faultKept {
			counts[NotifyAnswer{k.target.Addr.String(), one.answer}]++
		}
	}
	n.mu.Unlock()
	sorted := slices.SortedFunc(maps.Keys(counts), func(a, b NotifyAnswer) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Answer, b.Answer))
	})
	for _, at := range sorted[min(maxFaultServers, len(sorted)):] {
		delete(counts, at)
	}
	return counts
}

const maxFaultServers = 100

// sendNotify sends a NOTIFY once and counts it. The error is nil if the target confirms, and an *unconfirmed if the
// target was reached or is silent.
func (n *notifier) sendNotify(ctx context.Context, target Target, w *notification) (from netip.Addr, err error) {
	n.counters.count(func(s *Stats) { s.NotifiesSent++ })
	key := n.classes.registry.Load().keys[target.Key]
	// The class was changed between the announcement and this attempt.
	err = fmt.Errorf("the key %q is no longer configured", target.Key)
	if key != nil || target.Key == "" {
		from, err = w.sendTo(ctx, n.config, n.listenAddr, target, key)
	}
	switch {
	case err == nil:
		n.counters.count(func(s *Stats) { s.NotifiesConfirmed++ })
	// A NOTIFY cut off by the end of the process is no failure of the target.
	case ctx.Err() == nil:
		n.counters.count(func(s *Stats) { s.NotifiesFailed++ })
	}
	return from, err
}
