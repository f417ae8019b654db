// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zoneview"
)

// Loop keeps every zone at its settled serial with each of its classes. It is level-triggered: it is told which zones
// and classes there are and looks for itself what is left to do; changes while a zone is in flight become one. It is
// safe for concurrent use.
type Loop struct {
	config Config

	mu      sync.Mutex
	ctx     context.Context // nil before Run
	classes map[string]*class
	zones   map[string]*zone
	names   names
	working sync.WaitGroup
	closing sync.WaitGroup
}

// zone is guarded by Loop.mu.
type zone struct {
	Zone
	items map[string]*item // by class
	// last is what a zone had that ended (S3.4): its view is gone, and its Zone is not.
	last *zoneview.Snapshot
}

// class is guarded by Loop.mu.
type class struct {
	spec     Class
	known    bool // SetClass was called; until then its items wait
	provider *shared
	limiter  *rate.Limiter
	// revision is counted up when failures are forgotten.
	revision int

	ready   []*item
	running int
	// until is when a class whose provider wants to be left alone goes on; attempts are its failures in a row.
	until    time.Time
	attempts int
	timer    *time.Timer
	// down: deliveries failed for the class's sake since one last succeeded. bidden: its provider said itself when it goes on.
	// Else its health is asked at probeAt, and it goes on where that is good; lifted: it did; misled: and failed all the same.
	down, bidden, lifted, misled bool
	probeAt                      time.Time
}

// item is one (zone, class). At most one worker runs it.
type item struct {
	key   Key
	class *class
	zone  *zone

	// These are guarded by Loop.mu. changed is when the oldest change not delivered yet was seen.
	queued, running, again, gone, withdrawn, failing bool
	// delivered: the class has confirmed a serial of the zone; former classes go when all that are in force have.
	delivered bool
	changed   time.Time
	// since is when the oldest change that is not confirmed yet was seen; confirmed and behind are of the state, for Status.
	since     time.Time
	confirmed serial.Serial
	behind    []string
	// claimed is the name that the zone is delivered under, also where nothing is stored yet; awaits is one that another zone has. woken: that
	// one has it no more; asked: another one awaits a name that this one has.
	claimed, awaits name.Name
	woken, asked    bool
	// down: it failed for the sake of its class.
	down  bool
	timer *time.Timer

	// The rest belongs to the worker.
	memory
}

func (i *item) stopTimer() {
	if i.timer != nil {
		i.timer.Stop()
		i.timer = nil
	}
}

// shared closes a provider when the last one that uses it is done.
type shared struct {
	Provider
	uses   int // guarded by Loop.mu
	closed bool
}

// New makes a Loop that does nothing before Run.
func New(config Config) (*Loop, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Loop{config: config.withDefaults(), classes: map[string]*class{}, zones: map[string]*zone{}, names: newNames()}, nil
}

// Run works until ctx ends: when the process stops, or is not the one that delivers any more. It returns when no call
// outside is under way, and has closed the providers. It runs once.
func (l *Loop) Run(ctx context.Context) error {
	l.mu.Lock()
	if l.ctx != nil {
		l.mu.Unlock()
		return errors.New("a Loop runs once: make a new one")
	}
	l.ctx = ctx
	for _, c := range l.classes {
		l.pump(c)
	}
	l.mu.Unlock()
	events, unsubscribe := l.config.Views.Subscribe()
	defer unsubscribe()
	// What changed between New and Subscribe was told to nobody.
	l.mu.Lock()
	for _, z := range l.zones {
		l.enqueueZone(z)
	}
	l.mu.Unlock()
	for {
		select {
		case event, ok := <-events:
			if ok {
				l.mu.Lock()
				if z := l.zones[event.Zone.UID]; z != nil {
					z.last = event.Last // nil unless it is gone
					l.enqueueZone(z)
				}
				l.mu.Unlock()
			}
			continue
		case <-ctx.Done():
		}
		break
	}
	l.working.Wait()
	l.mu.Lock()
	for _, z := range l.zones {
		for _, i := range z.items {
			i.stopTimer()
		}
	}
	for _, c := range l.classes {
		if c.timer != nil {
			c.timer.Stop()
		}
		l.release(c.provider, true)
		c.provider, c.known = nil, false
	}
	l.mu.Unlock()
	l.closing.Wait()
	return nil
}

// SetClass makes a class known or changes it. Another Generation, Target or Provider is a reason to try again what
// failed, at once.
func (l *Loop) SetClass(spec Class) {
	if spec.RequestsPerSecond <= 0 {
		spec.RequestsPerSecond = 50
	}
	if spec.DriftInterval <= 0 {
		spec.DriftInterval = time.Hour
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.class(spec.Name)
	before := c.spec
	c.spec = spec
	burst := max(1, int(spec.RequestsPerSecond))
	if c.limiter == nil {
		c.limiter = rate.NewLimiter(rate.Limit(spec.RequestsPerSecond), burst)
	} else if before.RequestsPerSecond != spec.RequestsPerSecond {
		c.limiter.SetLimit(rate.Limit(spec.RequestsPerSecond))
		c.limiter.SetBurst(burst)
	}
	if !c.known || before.Provider != spec.Provider {
		l.release(c.provider, true)
		c.provider = nil
		if spec.Provider != nil {
			c.provider = &shared{Provider: spec.Provider}
		}
	}
	if !c.known || before.Provider != spec.Provider || before.Generation != spec.Generation || before.Target != spec.Target {
		c.restart()
	}
	c.known = true
	for _, z := range l.zones {
		if i := z.items[spec.Name]; i != nil {
			l.enqueue(i)
		}
	}
	l.pump(c)
}

// RemoveClass forgets a class. Zones that name it wait for it to come again.
func (l *Loop) RemoveClass(class string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.classes[class]
	if c == nil {
		return
	}
	l.release(c.provider, true)
	c.provider, c.known = nil, false
}

// SetZone says what shall be done with a zone, in place of what was said before.
func (l *Loop) SetZone(desired Zone) {
	l.mu.Lock()
	defer l.mu.Unlock()
	z := l.zones[desired.UID]
	if z == nil {
		z = &zone{items: map[string]*item{}}
		l.zones[desired.UID] = z
	}
	desired.Classes, desired.Former, desired.Expelled = slices.Clone(desired.Classes), slices.Clone(desired.Former), slices.Clone(desired.Expelled)
	z.Zone = desired
	for _, name := range slices.Concat(desired.Classes, desired.Former) {
		if z.items[name] == nil {
			z.items[name] = &item{key: Key{desired.UID, name}, class: l.class(name), zone: z}
		}
	}
	for name, i := range z.items {
		if i.withdrawn && !i.running && !slices.Contains(desired.Classes, name) && !slices.Contains(desired.Former, name) {
			i.stopTimer()
			delete(z.items, name)
		}
	}
	l.enqueueZone(z)
}

// RemoveZone forgets a zone whose object is gone. Nothing is withdrawn any more.
func (l *Loop) RemoveZone(uid string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	z := l.zones[uid]
	if z == nil {
		return
	}
	delete(l.zones, uid)
	for _, i := range z.items {
		i.gone = true
		i.stopTimer()
		if !i.running {
			l.keep(i)
		}
	}
}

// Retry tries again at once what failed or waits with a class: its credentials changed outside of its Generation.
func (l *Loop) Retry(class string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.classes[class]
	if c == nil {
		return
	}
	c.restart()
	for _, z := range l.zones {
		if i := z.items[class]; i != nil {
			l.enqueue(i)
		}
	}
	l.pump(c)
}

// restart forgets failures. It is called with mu held.
func (c *class) restart() {
	c.revision++
	c.until, c.attempts = time.Time{}, 0
	c.down, c.bidden, c.lifted, c.misled = false, false, false, false
}

// Health asks the class's provider whether it works (Provider.Health). It waits for nothing else of the class. Where it
// does, or its answer does not tell, what failed for the class's sake is tried again at once.
func (l *Loop) Health(ctx context.Context, class string) error {
	l.mu.Lock()
	c := l.classes[class]
	if c == nil || !c.known {
		l.mu.Unlock()
		return Errorf(ReasonInvalidConfiguration, "class %s is not known here", class)
	}
	if c.provider == nil {
		defer l.mu.Unlock()
		return c.spec.broken()
	}
	provider, spec, revision := c.provider, c.spec, c.revision
	provider.uses++
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, l.config.CallTimeout)
	defer cancel()
	err := l.config.guard(spec, "Health", func() error { return provider.Health(ctx) })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.release(provider, false)
	if (err == nil || errors.Is(err, ErrNotProven)) && c.down && !c.bidden && !c.misled && c.revision == revision {
		c.until, c.lifted = time.Time{}, true
		l.recovered(c)
		l.pump(c)
	}
	return err
}

// ClassStatus is how a class is doing at a moment.
type ClassStatus struct {
	Name string
	// Zones that are to be delivered or withdrawn, of them Waiting for a worker, Working, and Failing since they were
	// last tried.
	Zones, Waiting, Working, Failing int
	// Lag is how many serials the zone that is furthest behind is behind, Oldest since when the change waits that waits
	// longest; 0 and the zero time for none.
	Lag    uint32
	Oldest time.Time
	// Behind are the servers that, when last asked, did not have what was confirmed or was on its way to them, of one zone at least.
	Behind []string
	// PausedUntil is when a class whose provider wants to be left alone goes on; zero while it does not.
	PausedUntil time.Time
}

// Status is of every class, in no order.
func (l *Loop) Status() []ClassStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := map[*class]*ClassStatus{}
	var all []*ClassStatus
	for name, c := range l.classes {
		status := &ClassStatus{Name: name, Waiting: len(c.ready), Working: c.running}
		if c.until.After(time.Now()) {
			status.PausedUntil = c.until
		}
		counts[c], all = status, append(all, status)
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
			for _, server := range i.behind {
				if !slices.Contains(status.Behind, server) {
					status.Behind = append(status.Behind, server)
				}
			}
			if !slices.Contains(z.Classes, i.key.Class) || z.Withdraw {
				continue
			}
			settled, ok := l.config.Views.Settled(z.UID)
			if !ok || settled.Serial() == i.confirmed {
				continue
			}
			lag := uint32(1)
			if i.confirmed != 0 && settled.Serial().Ahead(i.confirmed) {
				lag = uint32(settled.Serial() - i.confirmed)
			}
			status.Lag = max(status.Lag, lag)
			if since := i.since; !since.IsZero() && (status.Oldest.IsZero() || since.Before(status.Oldest)) {
				status.Oldest = since
			}
		}
	}
	statuses := make([]ClassStatus, len(all))
	for n, status := range all {
		statuses[n] = *status
	}
	return statuses
}

// class is called with mu held.
func (l *Loop) class(name string) *class {
	c := l.classes[name]
	if c == nil {
		c = &class{spec: Class{Name: name}}
		l.classes[name] = c
	}
	return c
}

// release is called with mu held: by who used a provider, or with closing by who will not hand it out any more.
func (l *Loop) release(provider *shared, closing bool) {
	if provider == nil {
		return
	}
	if closing {
		provider.closed = true
	} else {
		provider.uses--
	}
	if provider.closed && provider.uses == 0 {
		provider.closed = false // once
		l.closing.Add(1)
		go func() {
			defer l.closing.Done()
			if err := l.config.guard(Class{}, "Close", provider.Close); err != nil {
				l.config.Logger.Warn("A provider did not close", "err", err)
			}
		}()
	}
}

// enqueueZone is called with mu held.
func (l *Loop) enqueueZone(z *zone) {
	for _, i := range z.items {
		if i.changed.IsZero() {
			i.changed = time.Now()
		}
		if i.since.IsZero() {
			i.since = i.changed
		}
		l.enqueue(i)
	}
}

// enqueue is called with mu held.
func (l *Loop) enqueue(i *item) {
	switch {
	case i.gone || i.queued:
	case i.running:
		i.again = true
	default:
		i.queued = true
		i.class.ready = append(i.class.ready, i)
		l.pump(i.class)
	}
}

// pump starts workers for what is ready. It is called with mu held.
func (l *Loop) pump(c *class) {
	if l.ctx == nil || l.ctx.Err() != nil || !c.known || c.spec.Paused {
		return
	}
	if wait := time.Until(c.until); wait > 0 {
		if c.timer != nil {
			c.timer.Stop()
		}
		if !c.bidden && !c.misled {
			wait = min(wait, time.Until(c.probeAt))
		}
		c.timer = time.AfterFunc(wait, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			if now := time.Now(); l.ctx.Err() == nil && c.until.After(now) && !c.probeAt.After(now) && !c.bidden && !c.misled {
				c.probeAt = now.Add(l.config.Backoff.Max)
				l.working.Add(1)
				go l.probe(c)
			}
			l.pump(c)
		})
		return
	}
	for len(c.ready) > 0 && c.running < l.config.Workers {
		i := c.ready[0]
		c.ready[0] = nil
		if c.ready = c.ready[1:]; len(c.ready) == 0 {
			c.ready = nil // lets go of what a burst needed
		}
		i.queued = false
		if i.gone {
			continue
		}
		i.running = true
		c.running++
		if c.provider != nil {
			c.provider.uses++
		}
		a := l.attempt(i)
		i.changed, i.woken, i.asked = time.Time{}, false, false
		l.working.Add(1)
		go l.work(i, c, a)
	}
}

// attempt is what an item and its class are told of now. It is called with mu held.
func (l *Loop) attempt(i *item) *attempt {
	c := i.class
	a := &attempt{
		key: i.key, config: &l.config, provider: c.provider, last: i.zone.last, others: othersOf{l, i, i.asked}, memory: &i.memory,
		facts: facts{
			random: rand.Int64N, config: &l.config, zone: i.zone.Zone, class: c.spec, revision: c.revision,
			woken: i.woken, asked: i.asked, changed: i.changed, withdrawn: i.withdrawn,
		},
	}
	a.lease = lease{key: i.key, config: &l.config, memory: &i.memory, target: c.spec.Target, limiter: c.limiter, current: func() error {
		return l.current(i, a)
	}}
	return a
}

// current: what the attempt was told of class and zone still holds.
func (l *Loop) current(i *item, a *attempt) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ctx.Err() != nil:
		return errStopping
	case (slices.Contains(i.zone.Classes, i.key.Class) && !i.zone.Withdraw) == i.leaving:
		return errSuperseded
	case i.gone, i.class.revision != a.facts.revision, !i.class.known, i.class.spec.Paused, i.zone.Paused && !a.takesAway:
		return errSuperseded
	}
	return nil
}

// recovered has everything tried again at once that failed for the class's sake. It is called with mu held.
func (l *Loop) recovered(c *class) {
	if !c.down {
		return
	}
	c.down = false
	for _, z := range l.zones {
		if i := z.items[c.spec.Name]; i != nil && i.down {
			i.down, i.woken = false, true
			l.enqueue(i)
		}
	}
}

// probe asks whether a class that waits could go on.
func (l *Loop) probe(c *class) {
	defer l.working.Done()
	if err := l.Health(l.ctx, c.spec.Name); err != nil {
		l.config.Logger.Debug("A class that waits is not healthy yet", "class", c.spec.Name, "err", err)
	}
}

func (l *Loop) work(i *item, c *class, a *attempt) {
	defer l.working.Done()
	a.run(l.ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	f := &a.facts
	i.running = false
	c.running--
	l.release(a.provider, false)
	l.keep(i)
	i.failing = i.fails()
	i.behind = nil
	for _, server := range i.state.Servers {
		if server.Err != nil || server.Serial == 0 || i.state.Serial.Ahead(server.Serial) || i.state.Intent != nil && i.state.Intent.Serial.Ahead(server.Serial) {
			i.behind = append(i.behind, server.Name)
		}
	}
	if i.loaded {
		i.confirmed = i.state.Serial
	}
	if f.settled {
		i.since = i.changed // of what was seen meanwhile
	}
	if now := i.loaded && !i.leaving && i.state.Serial != 0 && i.state.Target == f.class.Target; now != i.delivered && (now || i.loaded || i.withdrawn) {
		i.delivered = now
		for _, other := range i.zone.items {
			if now && other != i {
				l.enqueue(other) // It may wait for this one.
			}
		}
	}
	if !f.settled && i.changed.IsZero() {
		i.changed = f.changed // Its lag goes on.
	}
	switch now := time.Now(); {
	case f.revision != c.revision: // what it met is no longer how the class is
	case f.pause != nil && !c.until.After(now):
		delay := f.jitter(l.config.Backoff.delay(c.attempts))
		c.attempts++
		if f.pause.RetryAfter > 0 {
			delay = f.pause.RetryAfter
		}
		c.until, c.bidden = now.Add(delay), f.pause.RetryAfter > 0
		c.probeAt, c.misled, c.lifted = now.Add(l.config.Backoff.Max), c.lifted, false
	}
	switch {
	case f.revision != c.revision:
	case f.pause != nil:
		i.down, c.down = true, true
	case f.worked:
		i.down, c.attempts, c.lifted = false, 0, false
		l.recovered(c)
	}
	i.stopTimer()
	switch wake := i.wake(f.began); {
	case i.gone || l.ctx.Err() != nil:
	case i.again || f.again:
		i.again = false
		l.enqueue(i) // From here on it may belong to the next worker.
	case !wake.IsZero() && !i.withdrawn:
		i.timer = time.AfterFunc(time.Until(wake), func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.enqueue(i)
		})
	}
	l.pump(c)
}
