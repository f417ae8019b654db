// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
)

const (
	maxNotifyBackoff = time.Minute // RFC 1996 §3.6
	// notifiesPerTarget bounds what is in flight to one target over all zones: a dead one
	// costs that many sockets, and no other target waits for it.
	notifiesPerTarget = 32
)

// news is what one NOTIFY says: this zone is at this serial.
type news struct {
	fqdn   name.Name
	serial serial.Serial
	soa    content.Packed
}

// notifier tells every target of every new serial (RFC 1996). For one (zone, target) at
// most one NOTIFY is in flight; serials that come meanwhile are coalesced into the newest.
type notifier struct {
	primary *Primary
	done    sync.WaitGroup

	// Of the loop alone:
	announced map[spot]map[Target]announcement
	names     map[classUID]name.Name // the name a zone was last seen under

	mu      sync.Mutex
	places  map[lane]chan struct{}
	heralds map[heraldKey]*herald
	down    map[Target]bool // confirmed nothing since it was last told of something
}

// spot is where a zone is served: two classes may have different zones of one name.
type spot struct {
	class *Class
	fqdn  name.Name
}

type classUID struct {
	class *Class
	uid   string
}

type announcement struct {
	uid    string
	serial serial.Serial
}

type heraldKey struct {
	spot
	target Target
}

// lane is what goes to one target in turn. A catalog does not wait behind the thousands of zones in it, of which the
// target knows nothing before it has the catalog.
type lane struct {
	Target
	catalog bool
}

// herald carries the news of one zone to one target. It stands while its goroutine runs.
type herald struct {
	wanted *news         // nil: nothing left to say
	wake   chan struct{} // something newer is wanted
}

// stirred is what changed in classes and not in zones: the loops look at it when they are woken.
type stirred struct {
	mu       sync.Mutex
	uids     map[string]bool
	classes  map[*Class]bool
	repeat   map[classUID]bool
	wake     chan struct{}
	catalogs chan struct{}
}

func newStirred() *stirred {
	return &stirred{
		uids: map[string]bool{}, classes: map[*Class]bool{}, repeat: map[classUID]bool{},
		wake: make(chan struct{}, 1), catalogs: make(chan struct{}, 1),
	}
}

func (s *stirred) note(note func()) {
	s.mu.Lock()
	note()
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *stirred) zone(uid string)            { s.note(func() { s.uids[uid] = true }) }
func (s *stirred) class(c *Class)             { s.note(func() { s.classes[c] = true }) }
func (s *stirred) again(c *Class, uid string) { s.note(func() { s.repeat[classUID{c, uid}] = true }) }

func (s *stirred) catalog() {
	select {
	case s.catalogs <- struct{}{}:
	default:
	}
}

// take returns what was noted and forgets it.
func (s *stirred) take() (uids map[string]bool, classes map[*Class]bool, repeat map[classUID]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	uids, classes, repeat = s.uids, s.classes, s.repeat
	s.uids, s.classes, s.repeat = map[string]bool{}, map[*Class]bool{}, map[classUID]bool{}
	return uids, classes, repeat
}

// notifyLoop turns changes of the zones and classes into NOTIFYs until ctx ends. Every zone counts as
// changed at start: a secondary may have missed what happened while nothing ran here.
func (p *Primary) notifyLoop(ctx context.Context) {
	n := &notifier{
		primary:   p,
		announced: map[spot]map[Target]announcement{},
		names:     map[classUID]name.Name{},
		places:    map[lane]chan struct{}{},
		heralds:   map[heraldKey]*herald{},
		down:      map[Target]bool{},
	}
	defer n.done.Wait()
	events, end := p.config.Zones.Subscribe()
	defer end()
	catalogs, endCatalogs := p.catalogs.Subscribe()
	defer endCatalogs()
	for s := range p.config.Zones.All() {
		n.look(ctx, s.Zone().UID)
	}
	for s := range p.catalogs.All() {
		n.look(ctx, s.Zone().UID)
	}
	for {
		select {
		case e, open := <-events:
			if !open {
				<-ctx.Done()
				return
			}
			n.look(ctx, e.Zone.UID)
		case e := <-catalogs:
			n.look(ctx, e.Zone.UID)
		case <-p.stirred.wake:
			n.stir(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// stir looks at what changed in classes.
func (n *notifier) stir(ctx context.Context) {
	uids, classes, repeat := n.primary.stirred.take()
	for at := range repeat {
		for target := range n.announced[spot{at.class, n.names[at]}] {
			delete(n.announced[spot{at.class, n.names[at]}], target)
		}
		n.lookIn(ctx, at.class, at.uid)
	}
	for uid := range uids {
		n.look(ctx, uid)
	}
	for class := range classes {
		for at := range n.names {
			if at.class == class {
				n.lookIn(ctx, class, at.uid)
			}
		}
		for _, uid := range class.uids() {
			n.lookIn(ctx, class, uid)
		}
	}
}

func (n *notifier) look(ctx context.Context, uid string) {
	for _, class := range n.primary.responder.roster.Load().classes {
		n.lookIn(ctx, class, uid)
	}
}

// lookIn compares what a class serves under the zone's name, and under the one it had before,
// with what was announced. A zone that another view hides is not announced; when that one
// goes, this one is.
func (n *notifier) lookIn(ctx context.Context, class *Class, uid string) {
	at := classUID{class, uid}
	before, known := n.names[at]
	if !known && len(class.targets()) == 0 {
		return // nobody to tell, and nobody was told
	}
	now := class.nameOf(n.primary.config.Zones, uid)
	if now.IsZero() {
		delete(n.names, at)
	} else {
		n.names[at] = now
	}
	if known && before != now {
		n.announce(ctx, spot{class, before})
	}
	if !now.IsZero() {
		n.announce(ctx, spot{class, now})
	}
}

func (n *notifier) announce(ctx context.Context, at spot) {
	p := n.primary
	s, served := at.class.find(p.config.Zones, p.catalogs, at.fqdn)
	targets := at.class.targets()
	if !served {
		targets = nil
	} else if at.class.isCatalog(at.fqdn) {
		targets = slices.DeleteFunc(slices.Clone(targets), func(target Target) bool { return target.NoCatalog })
	}
	n.forget(at, targets)
	if len(targets) == 0 {
		return
	}
	is := announcement{uid: s.Zone().UID, serial: s.Serial()}
	w := &news{fqdn: at.fqdn, serial: s.Serial()}
	w.soa, _ = s.PackedSOA()
	if n.announced[at] == nil {
		n.announced[at] = map[Target]announcement{}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, target := range targets {
		if n.announced[at][target] == is {
			continue
		}
		n.announced[at][target] = is
		k := heraldKey{at, target}
		if h := n.heralds[k]; h != nil {
			h.wanted = w
			select {
			case h.wake <- struct{}{}:
			default:
			}
			continue
		}
		in := lane{target, at.class.isCatalog(at.fqdn)}
		if n.places[in] == nil {
			n.places[in] = make(chan struct{}, notifiesPerTarget)
		}
		place := n.places[in]
		h := &herald{wanted: w, wake: make(chan struct{}, 1)}
		n.heralds[k] = h
		n.done.Go(func() { n.carry(ctx, k, h, place) })
	}
}

// forget lets go of the targets that are not to be told any more.
func (n *notifier) forget(at spot, keep []Target) {
	for target := range n.announced[at] {
		if slices.Contains(keep, target) {
			continue
		}
		delete(n.announced[at], target)
		n.mu.Lock()
		if h := n.heralds[heraldKey{at, target}]; h != nil {
			h.wanted = nil
		}
		n.mu.Unlock()
	}
	if len(n.announced[at]) == 0 {
		delete(n.announced, at)
	}
}

// carry sends until nothing is wanted any more.
func (n *notifier) carry(ctx context.Context, k heraldKey, h *herald, place chan struct{}) {
	c, target := n.primary.config, k.target
	log := n.primary.log.WithValues("zone", k.fqdn.String(), "target", target.Addr.String())
	attempts, backoff := 0, c.NotifyBackoff
	for {
		n.mu.Lock()
		w := h.wanted
		select {
		case <-h.wake:
		default:
		}
		if w == nil {
			delete(n.heralds, k)
			n.mu.Unlock()
			return
		}
		n.mu.Unlock()

		select {
		case place <- struct{}{}:
		case <-ctx.Done():
			return
		}
		count := &n.primary.counters
		count.notifiesSent.Add(1)
		err := n.primary.notify(ctx, target, w)
		<-place
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			count.notifiesConfirmed.Add(1)
		} else {
			count.notifiesFailed.Add(1)
		}
		attempts++
		if err == nil || attempts == c.NotifyAttempts {
			switch changed := n.isDown(target, err != nil); {
			case err == nil && changed:
				log.Info("Secondary confirms NOTIFY again", "serial", uint32(w.serial), "attempts", attempts)
			case err == nil:
				log.V(1).Info("Secondary notified", "serial", uint32(w.serial), "attempts", attempts)
			case changed:
				log.Error(err, "Secondary does not confirm NOTIFY; its own refresh will find the serial. The same of other zones is logged at level 1 until it confirms one", "serial", uint32(w.serial), "attempts", attempts)
			default:
				log.V(1).Info("Secondary does not confirm NOTIFY", "serial", uint32(w.serial), "attempts", attempts, "err", err)
			}
			n.mu.Lock()
			if h.wanted == w {
				h.wanted = nil
			}
			n.mu.Unlock()
			attempts, backoff = 0, c.NotifyBackoff
			// The herald stays for the interval, so that what comes now is coalesced.
			if !sleep(ctx, c.NotifyInterval) {
				return
			}
			continue
		}
		log.V(1).Info("NOTIFY failed", "serial", uint32(w.serial), "attempt", attempts, "err", err)
		timer := time.NewTimer(backoff)
		select {
		case <-timer.C:
			backoff = min(2*backoff, maxNotifyBackoff)
		case <-h.wake:
			// News does not wait out the backoff of old news: the target may be back.
			timer.Stop()
			attempts, backoff = 0, c.NotifyBackoff
			if !sleep(ctx, min(backoff, c.NotifyInterval)) {
				return
			}
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// isDown notes whether a target confirms, and reports whether that is new: one that is down must not fill the log with
// its zones.
func (n *notifier) isDown(target Target, down bool) (changed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	changed = n.down[target] != down
	n.down[target] = down
	return changed
}

// notify sends one NOTIFY and waits for its answer. Nil means that the target confirmed.
func (p *Primary) notify(ctx context.Context, target Target, w *news) error {
	conn, err := p.dialNotify(target.Addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	conn.SetDeadline(time.Now().Add(p.config.NotifyTimeout))

	key := p.responder.roster.Load().keys[target.Key]
	if key == nil && target.Key != "" {
		return fmt.Errorf("the key %q is not one of ours any more", target.Key)
	}
	msg, mac, err := p.notifyMessage(w, key)
	if err != nil {
		return err
	}
	if _, err := conn.Write(msg); err != nil {
		return err
	}
	buf := make([]byte, 4096)
	doubt := errors.New("no answer")
	for {
		size, err := conn.Read(buf)
		if err != nil {
			if errors.Is(err, errRefused) {
				return fmt.Errorf("nothing listens there: %w", err)
			}
			return fmt.Errorf("%w: %w", doubt, err)
		}
		answered, err := p.readNotifyAnswer(buf[:size], binary.BigEndian.Uint16(msg), key, mac)
		if answered {
			return err
		}
		if err != nil { // not to be trusted, but worth telling if nothing better comes
			doubt = err
		}
	}
}

// dialNotify binds to an address that is served where one fits: a secondary compares a
// NOTIFY's source with its list of primaries.
func (p *Primary) dialNotify(to netip.AddrPort) (*net.UDPConn, error) {
	for _, l := range p.pairs {
		a := l.at.Addr()
		if a.IsUnspecified() || a.Is4() != to.Addr().Is4() || a.IsLoopback() != to.Addr().IsLoopback() {
			continue
		}
		if conn, err := net.DialUDP("udp", &net.UDPAddr{IP: a.AsSlice(), Zone: a.Zone()}, net.UDPAddrFromAddrPort(to)); err == nil {
			return conn, nil
		}
	}
	return net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
}

func (p *Primary) notifyMessage(w *news, key *signingKey) (msg, mac []byte, err error) {
	var id [2]byte
	rand.Read(id[:])
	zone, err := wireName(w.fqdn.String())
	if err != nil {
		return nil, nil, err
	}
	question := append(zone, 0, typeSOA, 0, classIN)
	m := newSmallMessage()
	m.begin(binary.BigEndian.Uint16(id[:]), opcodeNotify<<11|flagAA, question, w.fqdn, udpLimit)
	if len(w.soa.Rdata) > 0 { // a hint (RFC 1996 §3.7): what there is not or has no room is left out
		if _, err := m.add(w.soa.Owner, w.soa.Type, w.soa.TTL, w.soa.Rdata[0]); err != nil && !errors.Is(err, errTooLarge) {
			return nil, nil, err
		}
	}
	msg = m.finish()
	if key != nil {
		msg, mac = key.sign(msg, nil, stampAt(p.config.Clock()), false)
	}
	return msg, mac, nil
}

// readNotifyAnswer reports whether msg is the answer, and what it says. The socket is
// connected, so it came from the target's address; with a key it must be signed.
func (p *Primary) readNotifyAnswer(msg []byte, id uint16, key *signingKey, mac []byte) (answered bool, err error) {
	if len(msg) < headerLen || msg[2]&0x80 == 0 {
		return false, nil
	}
	q, state := readMessage(msg)
	if state != readable || q.id != id || q.opcode != opcodeNotify {
		return false, nil
	}
	rcode := q.flags & 0xF
	if key != nil {
		if q.signature == nil {
			return false, fmt.Errorf("unsigned answer with rcode %d", rcode)
		}
		if v := (keyring{key.Name: key}).verify(msg, q.signature, mac, p.config.Clock()); v.malformed || v.err != 0 || v.key != key {
			return false, fmt.Errorf("answer with rcode %d, TSIG error %d and a signature that does not hold", rcode, q.signature.err)
		}
	}
	if rcode != rcodeSuccess {
		return true, fmt.Errorf("answered with rcode %d (%s)", rcode, rcodeText(rcode))
	}
	return true, nil
}

func rcodeText(rcode uint16) string {
	switch rcode {
	case rcodeFormErr:
		return "FORMERR"
	case rcodeServFail:
		return "SERVFAIL"
	case rcodeNotImp:
		return "NOTIMP"
	case rcodeRefused:
		return "REFUSED: the target does not take us for its primary"
	case rcodeNotAuth:
		return "NOTAUTH: the target does not have the zone"
	}
	return "unexpected"
}
