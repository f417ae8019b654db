// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/decision"
	"kubi.zone/kubizone/pkg/delivery/lease"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

// Loop keeps every zone at its settled serial in each of its classes, and is safe for concurrent use.
type Loop struct {
	config Config

	mu      sync.Mutex
	ctx     context.Context // nil before Run
	classes map[string]*knownClass
	zones   map[string]*knownZone
	names   names
	working sync.WaitGroup
	closing sync.WaitGroup
}

// knownZone is a zone as last passed to SetZone, guarded by Loop.mu.
type knownZone struct {
	delivery.Zone
	items map[string]*item
	// lastContent is the last content of a removed zone, or of a zone without a rule for its name, whose records must
	// be removed at providers. Nil for other zones.
	lastContent *zoneview.Snapshot
}

// knownClass is guarded by Loop.mu.
type knownClass struct {
	spec     delivery.Class
	known    bool // true after SetClass; until then items wait
	provider *shared
	limiter  *rate.Limiter
	queue    queue
	losses   losses
}

// item is a delivery, the task to keep a zone up to date at the servers of a class. An item is a job of the class's
// queue, and each run of the job is an attempt.
type item struct {
	key   delivery.Key
	class *knownClass
	zone  *knownZone

	// Loop.mu guards the fields from here to confirmedAt.

	job
	withdrawn   bool      // the servers have nothing of the zone, and the Delivery is deleted
	delivered   bool      // the servers of the present target have confirmed a serial
	changedAt   time.Time // of the oldest change that waits for an attempt; zero for none
	failing     bool
	confirmed   serial.Serial // last serial at all servers
	confirmedAt time.Time     // of their answers

	decision.Memory
}

type shared struct {
	delivery.Provider
	uses   int // guarded by Loop.mu
	closed bool
}

func New(config Config) *Loop {
	return &Loop{config: config.withDefaults(), classes: map[string]*knownClass{}, zones: map[string]*knownZone{}, names: newNames()}
}

// Run works until ctx ends, closes the providers, and returns after the last call to them. Call Run once.
func (l *Loop) Run(ctx context.Context) {
	l.mu.Lock()
	l.ctx = ctx
	for _, c := range l.classes {
		c.queue.startNext()
	}
	l.mu.Unlock()

	events, unsubscribe := l.config.Views.Subscribe()
	defer unsubscribe()

	// Changes between New and Subscribe had no event.
	l.mu.Lock()
	for _, z := range l.zones {
		l.enqueueZone(z)
	}
	l.mu.Unlock()

	// Each new content of a zone enqueues its deliveries. A removed zone comes with its last content.
	for ctx.Err() == nil {
		select {
		case event := <-events:
			l.mu.Lock()
			if z := l.zones[event.Zone.UID]; z != nil {
				z.lastContent = event.LastSettled
				l.enqueueZone(z)
			}
			l.mu.Unlock()
		case <-ctx.Done():
		}
	}

	// All attempts have ended. A timer may still fire, but starts nothing after ctx.
	l.working.Wait()

	l.mu.Lock()
	for _, z := range l.zones {
		for _, i := range z.items {
			i.job.stop()
		}
	}
	for _, c := range l.classes {
		l.closeClass(c)
	}
	l.mu.Unlock()

	l.closing.Wait()
}

// closeClass needs mu.
func (l *Loop) closeClass(c *knownClass) {
	c.queue.stop()
	l.releaseProvider(c.provider, true)
	c.provider, c.known = nil, false
}

// SetClass adds or changes a class. A change of Generation, Target, Provider or Servers retries failed deliveries.
func (l *Loop) SetClass(spec delivery.Class) {
	spec.RequestsPerSecond, spec.DriftInterval = cmp.Or(spec.RequestsPerSecond, 50), cmp.Or(spec.DriftInterval, time.Hour)
	l.mu.Lock()
	defer l.mu.Unlock()

	c := l.ensureClass(spec.Name)
	before := c.spec
	c.spec = spec
	burst := max(1, int(spec.RequestsPerSecond))

	// Running attempts hold the limiter, so change its rate in place.
	if c.limiter == nil {
		c.limiter = rate.NewLimiter(rate.Limit(spec.RequestsPerSecond), burst)
	}
	c.limiter.SetLimit(rate.Limit(spec.RequestsPerSecond))
	c.limiter.SetBurst(burst)

	// The former provider closes when its last call has returned.
	if !c.known || before.Provider != spec.Provider {
		l.releaseProvider(c.provider, true)
		c.provider = nil
		if spec.Provider != nil {
			c.provider = &shared{Provider: spec.Provider}
		}
	}

	// A new address or Secret may mend the fault: retry all deliveries without the delay after a failure.
	if !c.known || before.Provider != spec.Provider || before.Generation != spec.Generation || before.Target != spec.Target {
		c.queue.restartJobs()
	}

	// A server joined or left: retry failed deliveries without their delays.
	if !slices.Equal(before.Servers, spec.Servers) {
		for _, z := range l.zones {
			if i := z.items[spec.Name]; i != nil {
				i.woken = true
			}
		}
	}

	c.known = true
	l.enqueueClass(c)
}

// RemoveClass forgets a class. Until all zones are withdrawn from the servers of the class, the result is false,
// without effect.
func (l *Loop) RemoveClass(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, z := range l.zones {
		// One zone is still at the servers: the class has to stay, with its provider.
		if i := z.items[name]; i != nil && (i.running || !i.withdrawn) {
			return false
		}
	}

	c := l.classes[name]
	if c == nil {
		return true
	}

	for _, z := range l.zones {
		if i := z.items[name]; i != nil {
			i.queue.dropJob(&i.job)
			delete(z.items, name)
		}
	}

	l.closeClass(c)
	delete(l.classes, name)
	return true
}

// SetZone adds or changes a zone, and enqueues its deliveries: for each class that the zone names, and each class that
// may still have the zone. The slices of desired are copied.
func (l *Loop) SetZone(desired delivery.Zone) {
	l.mu.Lock()
	defer l.mu.Unlock()
	z := l.zones[desired.UID]
	if z == nil {
		z = &knownZone{items: map[string]*item{}}
		l.zones[desired.UID] = z
	}

	desired.Classes, desired.FormerClasses, desired.ExpelledClasses = slices.Clone(desired.Classes), slices.Clone(desired.FormerClasses),
		slices.Clone(desired.ExpelledClasses)
	z.Zone = desired

	// A class may be named before the class exists: the delivery then waits for SetClass.
	named := slices.Concat(desired.Classes, desired.FormerClasses)
	for _, name := range named {
		if z.items[name] == nil {
			i := &item{key: delivery.Key{UID: desired.UID, Class: name}, class: l.ensureClass(name), zone: z}
			i.job = job{queue: &i.class.queue, tenant: desired.Tenant, start: func() { l.startItem(i) }}
			z.items[name] = i
		}
	}

	// Forget classes that have removed the zone and are named no more.
	for name, i := range z.items {
		if i.withdrawn && !i.running && !slices.Contains(named, name) {
			i.queue.dropJob(&i.job)
			delete(z.items, name)
		}
	}

	l.enqueueZone(z)
}

// RemoveZone forgets a zone whose object was deleted. Data at providers stays.
func (l *Loop) RemoveZone(uid string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	z := l.zones[uid]
	if z == nil {
		return
	}
	delete(l.zones, uid)
	for _, i := range z.items {
		i.queue.dropJob(&i.job)
		// A running attempt frees the names at its end.
		if !i.running {
			l.updateNames(i)
		}
	}
}

// Health asks the servers of a class whether they work, and returns the fault, or nil. After nil or ErrNotProven,
// deliveries that failed because of the class are retried.
func (l *Loop) Health(ctx context.Context, class string) error {
	l.mu.Lock()
	c := l.classes[class]
	if c == nil || !c.known {
		l.mu.Unlock()
		return delivery.Errorf(delivery.ReasonInvalidConfiguration, "class %s is not known here", class)
	}
	// A class without a Secret, for example: the fault is known without a question.
	if c.provider == nil {
		defer l.mu.Unlock()
		return c.spec.Err
	}

	provider, spec, revision := c.provider, c.spec, c.queue.revision
	provider.uses++ // keeps it open
	l.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, l.config.CallTimeout)
	defer cancel()
	err := l.config.guardCall(spec, "Health", func() error { return provider.Health(ctx) })

	l.mu.Lock()
	defer l.mu.Unlock()
	l.releaseProvider(provider, false)
	// The servers answer. Revision makes sure that the answer is about the class as it is now.
	if err == nil || errors.Is(err, delivery.ErrNotProven) {
		c.queue.endPause(revision)
	}
	return err
}

// lostInterval separates a server's rounds of comparisons, since machines that share an address may answer in turns.
// lostPause separates a class's rounds.
const lostInterval, lostPause = time.Minute, 3 * time.Second

type losses struct {
	waiting map[string]bool
	rounds  map[string]time.Time
	last    time.Time
}

// beginRound notes servers that lost a zone, and returns all noted servers if a round of comparisons begins now;
// otherwise nil. A server that waits is included in a later call.
func (o *losses) beginRound(lost []string, now time.Time) []string {
	for _, server := range lost {
		o.waiting[server] = true
	}

	maps.DeleteFunc(o.rounds, func(_ string, at time.Time) bool { return now.Sub(at) >= lostInterval })

	for server := range o.waiting {
		// The server had a round less than a minute ago, or the class less than three seconds ago.
		if _, wait := o.rounds[server]; wait || now.Sub(o.last) < lostPause {
			continue
		}

		servers := slices.Sorted(maps.Keys(o.waiting))
		for _, one := range servers {
			o.rounds[one] = now
		}
		clear(o.waiting)
		o.last = now
		return servers
	}
	return nil
}

// AskLast asks each server of a class for the zone that changed last there. If a server has lost the zone or its
// change, all zones of the class are compared, unless such a comparison has just begun.
func (l *Loop) AskLast(ctx context.Context, class string) {
	l.mu.Lock()
	c := l.classes[class]
	if c == nil || !c.known || c.provider == nil || c.spec.Paused {
		l.mu.Unlock()
		return
	}

	provider, spec := c.provider, c.spec
	provider.uses++ // keeps it open
	l.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, l.config.CallTimeout)
	defer cancel()

	var lost []string
	err := l.config.guardCall(spec, "AskLast", func() error {
		lost = provider.AskLast(ctx)
		return nil
	})

	l.mu.Lock()
	defer l.mu.Unlock()
	l.releaseProvider(provider, false)
	if err != nil {
		return
	}
	if lost = c.losses.beginRound(lost, time.Now()); len(lost) > 0 {
		l.config.Logger.Info("Servers of a class have an earlier serial than they confirmed, or lost the zone; all its zones are compared",
			"class", class, "servers", lost)
		l.enqueueClass(c)
	}
}

type ClassStatus struct {
	Name string
	// Waiting counts the zones without a worker yet, Failing those that failed last.
	Zones, Waiting, Failing int
	PausedUntil             time.Time
}

// Status returns a row for each class, in no order. Zones that the class has removed do not count.
func (l *Loop) Status() []ClassStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := map[*knownClass]*ClassStatus{}
	for name, c := range l.classes {
		status := &ClassStatus{Name: name, Waiting: c.queue.waiting}
		if c.queue.pausedUntil.After(time.Now()) {
			status.PausedUntil = c.queue.pausedUntil
		}
		counts[c] = status
	}

	for _, z := range l.zones {
		for _, i := range z.items {
			if i.withdrawn {
				continue
			}
			status := counts[i.class]
			status.Zones++
			if i.failing {
				status.Failing++
			}
		}
	}

	statuses := make([]ClassStatus, 0, len(counts))
	for _, status := range counts {
		statuses = append(statuses, *status)
	}
	return statuses
}

// ensureClass needs mu.
func (l *Loop) ensureClass(name string) *knownClass {
	c := l.classes[name]
	if c == nil {
		c = &knownClass{spec: delivery.Class{Name: name}, losses: losses{waiting: map[string]bool{}, rounds: map[string]time.Time{}}}
		c.queue = queue{mu: &l.mu, workers: l.config.Workers, backoff: l.config.Backoff, ready: map[string][]*job{},
			runningByTenant: map[string]int{}, failedJobs: map[*job]bool{}}
		// A job starts only while Run runs and the class is known and not paused.
		c.queue.open = func() bool { return l.ctx != nil && l.ctx.Err() == nil && c.known && !c.spec.Paused }
		c.queue.probe = func() {
			l.working.Add(1)
			go l.probe(c)
		}
		l.classes[name] = c
	}
	return c
}

// mu is held.
func (l *Loop) releaseProvider(provider *shared, closing bool) {
	if provider == nil {
		return
	}
	// The class has another provider, or is removed.
	if closing {
		provider.closed = true
	} else {
		provider.uses--
	}
	// Close without the lock, because Close may wait for a connection. Run waits for closing at its end.
	if provider.closed && provider.uses == 0 {
		provider.closed = false
		l.closing.Add(1)
		go func() {
			defer l.closing.Done()
			if err := l.config.guardCall(delivery.Class{}, "Close", provider.Close); err != nil {
				l.config.Logger.Warn("A provider did not close", "err", err)
			}
		}()
	}
}

// mu is held.
func (l *Loop) enqueueClass(c *knownClass) {
	var items []*item
	for _, z := range l.zones {
		if i := z.items[c.spec.Name]; i != nil {
			items = append(items, i)
		}
	}
	// Begin with the deliveries confirmed last, because a server restored from an old disk lacks them.
	slices.SortFunc(items, func(a, b *item) int { return b.confirmedAt.Compare(a.confirmedAt) })
	for _, i := range items {
		c.queue.enqueueJob(&i.job)
	}
	c.queue.startNext()
}

// enqueueZone needs mu.
func (l *Loop) enqueueZone(z *knownZone) {
	settled, isServed := l.config.Views.Settled(z.UID)
	for _, i := range z.items {
		// The delay of a delivery is measured from the oldest change that the class lacks.
		if i.changedAt.IsZero() && isServed && settled.Serial() != i.confirmed {
			i.changedAt = time.Now()
		}
		i.queue.enqueueJob(&i.job)
	}
}

// startItem needs mu.
func (l *Loop) startItem(i *item) {
	a := l.newAttempt(i)
	if i.class.provider != nil {
		i.class.provider.uses++
	}
	i.changedAt, i.woken = time.Time{}, false
	l.working.Add(1)
	go l.workOnce(i, a, i.class.provider)
}

// newAttempt copies the state of zone and class for an attempt, which then runs without mu. The caller holds mu.
func (l *Loop) newAttempt(i *item) *attempt {
	c := i.class
	a := &attempt{
		key: i.key, config: &l.config, lastContent: i.zone.lastContent, siblings: siblings{l, i}, memory: &i.Memory,
		facts: decision.Facts{
			Random: rand.Int64N, Identity: l.config.Identity, Backoff: l.config.Backoff, RepeatAfter: l.config.repeatAfter(),
			Zone: i.zone.Zone, Class: c.spec, Revision: c.queue.revision,
			Woken: i.woken, ChangedAt: i.changedAt, Removed: i.withdrawn, LostAt: c.losses.last,
		},
	}
	// A nil *shared in the interface would not equal nil.
	if c.provider != nil {
		a.provider = c.provider
	}
	a.lease = lease.Lease{
		Key: i.key, Store: l.config.Store, Grace: l.config.grace(), Memory: &i.Memory, Limiter: c.limiter,
		CheckCurrent: func() error { return l.checkCurrent(i, a) },
	}
	return a
}

// checkCurrent returns an error if the attempt's content or class is out of date, so that the fence stops the next
// write. The fence calls it without mu.
func (l *Loop) checkCurrent(i *item, a *attempt) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ctx.Err() != nil:
		return errStopping
	// The zone left the class, or came back, since the attempt began.
	case (slices.Contains(i.zone.Classes, i.key.Class) && !i.zone.Remove) == i.Leaving:
		return errSuperseded
	// The zone is deleted, the class changed or is paused. A pause of the zone does not stop a removal.
	case i.dropped, i.queue.revision != a.facts.Revision, !i.class.known, i.class.spec.Paused, i.zone.Paused && !a.removing:
		return errSuperseded
	}
	return nil
}

func (l *Loop) probe(c *knownClass) {
	defer l.working.Done()
	if err := l.Health(l.ctx, c.spec.Name); err != nil {
		l.config.Logger.Debug("A class that waits is not healthy yet", "class", c.spec.Name, "err", err)
	}
}

// workOnce runs one attempt in a goroutine of its own, and afterwards, with mu, updates the item and schedules the next
// attempt. provider may be nil.
func (l *Loop) workOnce(i *item, a *attempt, provider *shared) {
	defer l.working.Done()
	a.runAttempt(l.ctx)
	l.mu.Lock()
	defer l.mu.Unlock()

	// 1. Take over the results of the attempt.
	f, q := &a.facts, i.queue
	l.releaseProvider(provider, false)
	l.updateNames(i)

	if i.failing = i.IsFailing(); i.Loaded {
		i.confirmed, i.confirmedAt = i.State.Serial, i.State.SyncTime
	}
	// The change is not confirmed yet: its delay goes on from the first attempt.
	if !f.Settled && i.changedAt.IsZero() {
		i.changedAt = f.ChangedAt
	}

	// 2. Tell the queue, which may pause the class or retry other deliveries.
	q.endRun(&i.job, f.Revision, f.Pause, f.Worked)
	if i.Loaded || i.withdrawn { // otherwise the state at the servers is unknown
		i.updateDelivered(f.Class.Target)
	}

	// 3. Schedule the next attempt.
	wake := i.NextWake(f.Began)
	if i.withdrawn {
		wake = time.Time{}
	}
	q.scheduleNext(&i.job, f.Again, wake)
}

// updateDelivered notes whether the servers of a target have the zone. Once they do, classes that the zone leaves may
// remove the zone, so their deliveries are enqueued. Loop.mu is held.
func (i *item) updateDelivered(target string) {
	before := i.delivered
	if i.delivered = i.isConfirmedAt(target); before || !i.delivered {
		return
	}
	for _, other := range i.zone.items {
		if other != i {
			other.queue.enqueueJob(&other.job)
		}
	}
}

// isConfirmedAt reports whether the servers of a target have confirmed a serial, and keep the zone.
func (i *item) isConfirmedAt(target string) bool {
	return !i.Leaving && i.State.Serial != 0 && i.State.Target == target
}
