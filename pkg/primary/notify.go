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
	places  []chan struct{} // by target
	done    sync.WaitGroup

	// Of the loop alone:
	announced map[name.Name]announcement
	names     map[string]name.Name // uid → the name it was last seen under

	mu      sync.Mutex
	heralds map[heraldKey]*herald
}

type announcement struct {
	uid    string
	serial serial.Serial
}

type heraldKey struct {
	fqdn   name.Name
	target int
}

// herald carries the news of one zone to one target. It stands while its goroutine runs.
type herald struct {
	wanted *news         // nil: nothing left to say
	wake   chan struct{} // something newer is wanted
}

// notifyLoop turns changes of the zones into NOTIFYs until ctx ends. Every zone counts as
// changed at start: a secondary may have missed what happened while nothing ran here.
func (p *Primary) notifyLoop(ctx context.Context) {
	if len(p.config.Notify) == 0 {
		return
	}
	n := &notifier{
		primary:   p,
		announced: map[name.Name]announcement{},
		names:     map[string]name.Name{},
		heralds:   map[heraldKey]*herald{},
	}
	for range p.config.Notify {
		n.places = append(n.places, make(chan struct{}, notifiesPerTarget))
	}
	defer n.done.Wait()
	events, end := p.config.Zones.Subscribe()
	defer end()
	for s := range p.config.Zones.All() {
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
		case <-ctx.Done():
			return
		}
	}
}

// look compares what is served under the zone's name, and under the one it had before,
// with what was announced. A zone that another view hides is not announced; when that one
// goes, this one is.
func (n *notifier) look(ctx context.Context, uid string) {
	before, known := n.names[uid]
	var now name.Name
	if s, ok := n.primary.config.Zones.Settled(uid); ok {
		now = s.Header().FQDN
		n.names[uid] = now
	} else {
		delete(n.names, uid)
	}
	if known && before != now {
		n.announce(ctx, before)
	}
	if !now.IsZero() {
		n.announce(ctx, now)
	}
}

func (n *notifier) announce(ctx context.Context, fqdn name.Name) {
	s, served := n.primary.responder.find(fqdn)
	if !served {
		delete(n.announced, fqdn)
		n.mu.Lock()
		defer n.mu.Unlock()
		for i := range n.places {
			if h := n.heralds[heraldKey{fqdn, i}]; h != nil {
				h.wanted = nil
			}
		}
		return
	}
	is := announcement{uid: s.Zone().UID, serial: s.Serial()}
	if n.announced[fqdn] == is {
		return
	}
	n.announced[fqdn] = is
	w := &news{fqdn: fqdn, serial: s.Serial()}
	w.soa, _ = s.PackedSOA()
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.places {
		k := heraldKey{fqdn, i}
		if h := n.heralds[k]; h != nil {
			h.wanted = w
			select {
			case h.wake <- struct{}{}:
			default:
			}
			continue
		}
		h := &herald{wanted: w, wake: make(chan struct{}, 1)}
		n.heralds[k] = h
		n.done.Go(func() { n.carry(ctx, k, h) })
	}
}

// carry sends until nothing is wanted any more.
func (n *notifier) carry(ctx context.Context, k heraldKey, h *herald) {
	c := n.primary.config
	target := c.Notify[k.target]
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
		case n.places[k.target] <- struct{}{}:
		case <-ctx.Done():
			return
		}
		err := n.primary.notify(ctx, target, w)
		<-n.places[k.target]
		if ctx.Err() != nil {
			return
		}
		attempts++
		if err == nil || attempts == c.NotifyAttempts {
			if err == nil {
				log.V(1).Info("Secondary notified", "serial", uint32(w.serial), "attempts", attempts)
			} else {
				log.Error(err, "Secondary does not confirm NOTIFY; its own refresh will find the serial", "serial", uint32(w.serial), "attempts", attempts)
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

	key := p.keys[target.Key]
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
		if v := p.keys.verify(msg, q.signature, mac, p.config.Clock()); v.malformed || v.err != 0 || v.key != key {
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
