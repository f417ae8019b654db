// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
)

// acceptTCP takes connections while there is a place for them; beyond it they wait for one for a
// moment, unread, for BIND takes a connection that is closed on it for a primary that is
// down, for minutes, and a catalog of thousands of zones makes hundreds at once. How many
// wait is bounded like how many are served; what is beyond that is closed at once, so that
// a flood costs an accept each and nothing that stays. Sources that no rule could admit
// have a budget of their own, and do not wait; those that a key could admit are newcomers
// until they have signed with it. So neither takes the secondaries' places.
func (p *Primary) acceptTCP(ctx, connCtx context.Context, l *net.TCPListener, conns *sync.WaitGroup) error {
	pause := 5 * time.Millisecond
	for {
		conn, err := l.AcceptTCP()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			if errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("TCP listener %s was closed while it served", l.Addr())
			}
			// Out of file descriptors, or a peer that went before it was accepted.
			p.log.V(2).Info("Accept failed", "err", err)
			if !sleep(ctx, pause) {
				return nil
			}
			pause = min(2*pause, time.Second)
			continue
		}
		pause = 5 * time.Millisecond
		from := conn.RemoteAddr().(*net.TCPAddr).AddrPort()
		client := from.Addr().Unmap()
		s := &seat{conn: conn, from: from, client: client}
		is := p.responder.roster.Load().standing(client)
		take := func() (bool, <-chan struct{}) { return p.takeSeat(s, is) }
		if ok, _ := take(); ok {
			conns.Go(func() {
				defer p.leave(s)
				p.serveConn(connCtx, s)
			})
			continue
		}
		mayWait := is != outsider
		if mayWait {
			mayWait, _ = p.waiting.take(client)
		}
		if !mayWait {
			p.refuse(conn, from)
			continue
		}
		conns.Go(func() {
			if !p.waitFor(ctx, client, take) {
				p.refuse(conn, from)
				return
			}
			defer p.leave(s)
			p.serveConn(connCtx, s)
		})
	}
}

// seat is the place of a connection.
type seat struct {
	conn   *net.TCPConn
	from   netip.AddrPort
	client netip.Addr
	// One of both, while it has a place.
	places   *budget
	newcomer *newcomer
	idle     time.Duration
}

// takeSeat takes the place that is right for a source of that standing.
func (p *Primary) takeSeat(s *seat, is standing) (ok bool, freed <-chan struct{}) {
	switch is {
	case unproven:
		s.newcomer, freed = p.newcomers.take(s.client, func() {
			p.counters.connectionsRefused.Add(1)
			s.conn.Close()
		})
		s.idle = min(p.config.IdleTimeout, unprovenIdle)
		return s.newcomer != nil, freed
	case peer:
		s.places, s.idle = p.peers, p.config.IdleTimeout
	default:
		s.places, s.idle = p.outsiders, min(p.config.IdleTimeout, unprovenIdle)
	}
	if ok, freed = s.places.take(s.client); !ok {
		s.places = nil
	}
	return ok, freed
}

// prove gives a newcomer that has signed a place of the peers, where there is one within a moment.
func (p *Primary) prove(ctx context.Context, s *seat) bool {
	newcomer := s.newcomer
	s.newcomer = nil
	if !p.newcomers.leave(newcomer) {
		return false // cut meanwhile
	}
	take := func() (bool, <-chan struct{}) { return p.takeSeat(s, peer) }
	if ok, _ := take(); ok {
		return true
	}
	if ok, _ := p.waiting.take(s.client); !ok || !p.waitFor(ctx, s.client, take) {
		p.counters.connectionsRefused.Add(1)
		p.log.V(2).Info("Connection over the limit closed", "from", s.from.String())
		return false
	}
	return true
}

// leave gives the place of a connection back.
func (p *Primary) leave(s *seat) {
	if s.newcomer != nil {
		p.newcomers.leave(s.newcomer)
	}
	if s.places != nil {
		s.places.give(s.client)
	}
}

// waitFor takes what take takes as soon as it can, within placeWait. The connection has one of the waiting places and
// gives it back.
func (p *Primary) waitFor(ctx context.Context, client netip.Addr, take func() (bool, <-chan struct{})) bool {
	defer p.waiting.give(client)
	turn, cancel := context.WithTimeout(ctx, placeWait)
	defer cancel()
	return await(turn, take)
}

func (p *Primary) refuse(conn *net.TCPConn, from netip.AddrPort) {
	p.counters.connectionsRefused.Add(1)
	p.log.V(2).Info("Connection over the limit closed", "from", from.String())
	conn.Close()
}

// placeWait is how long a connection waits for a place: less than any peer waits for an answer.
const placeWait = 4 * time.Second

// unprovenIdle is the idle timeout of sources that can only be refused, or have not signed yet.
const unprovenIdle = 2 * time.Second

// serveConn answers the messages of one connection in order (RFC 7766 §6.2.1.1 lets a
// client send several before it reads).
func (p *Primary) serveConn(ctx context.Context, s *seat) {
	conn, from := s.conn, s.from
	defer conn.Close()
	defer p.guard(from)
	p.track(conn, true)
	defer p.track(conn, false)
	for {
		msg, err := p.readTCP(conn, s.idle)
		if err != nil {
			return
		}
		a := p.responder.respond(msg, from.Addr().Unmap(), true)
		p.counters.answered(a)
		p.logAnswer(a, from, "tcp")
		if s.newcomer != nil && a.admitted && !p.prove(ctx, s) {
			return
		}
		switch {
		case a.transfer != nil:
			err = p.serveTransfer(ctx, conn, from, a.transfer)
		case a.msg != nil:
			err = p.writeTCP(conn, append(binary.BigEndian.AppendUint16(nil, uint16(len(a.msg))), a.msg...), time.Time{})
		default: // what deserves no answer deserves no connection
			return
		}
		if err != nil {
			return
		}
	}
}

func (p *Primary) readTCP(conn *net.TCPConn, idle time.Duration) ([]byte, error) {
	conn.SetReadDeadline(time.Now().Add(idle))
	// wakeConns moves the deadline into the past after closing stopping: whichever of the
	// two came last, the read ends.
	select {
	case <-p.stopping:
		return nil, net.ErrClosed
	default:
	}
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return nil, err
	}
	conn.SetReadDeadline(time.Now().Add(p.config.ReadTimeout))
	msg := make([]byte, binary.BigEndian.Uint16(length[:]))
	_, err := io.ReadFull(conn, msg)
	return msg, err
}

// writeTCP writes framed octets within WriteTimeout, and before end unless that is zero.
func (p *Primary) writeTCP(conn *net.TCPConn, framed []byte, end time.Time) error {
	deadline := time.Now().Add(p.config.WriteTimeout)
	if !end.IsZero() && end.Before(deadline) {
		deadline = end
	}
	conn.SetWriteDeadline(deadline)
	_, err := conn.Write(framed)
	return err
}

// serveTransfer runs a transfer when it is its turn. An error ends the connection, which
// is how the peer learns that what it has is not whole.
func (p *Primary) serveTransfer(ctx context.Context, conn *net.TCPConn, from netip.AddrPort, t *transfer) error {
	log := p.log.WithValues("zone", t.zone.Header().FQDN.String(), "serial", uint32(t.zone.Serial()), "to", from.String())
	client := from.Addr().Unmap()
	turn, cancel := context.WithTimeout(ctx, p.config.TransferWait)
	defer cancel()
	if !p.transfers.wait(turn, client) {
		p.counters.transferred(t.kind(), resultNoPlace, 0)
		log.Info("Transfer had to wait too long", "waited", p.config.TransferWait)
		q := t.request
		m := newSmallMessage()
		m.begin(q.id, q.replyFlags(0, rcodeServFail), q.question, name.Name{}, maxMessage)
		b := p.responder.seal(m, q, t.key, rcodeServFail)
		return p.writeTCP(conn, append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...), time.Time{})
	}
	defer p.transfers.give(client)
	m := p.messages.Get().(*message)
	defer p.messages.Put(m)
	start := time.Now()
	end := start.Add(p.config.TransferTimeout)
	s, err := t.run(m, p.config.Clock, func(framed []byte) error { return p.writeTCP(conn, framed, end) })
	log = log.WithValues("records", s.records, "messages", s.messages, "octets", s.octets, "took", time.Since(start))
	if t.key != nil {
		log = log.WithValues("key", t.key.String())
	}
	if _, cut := errors.AsType[*net.OpError](err); cut {
		p.counters.transferred(t.kind(), resultCut, s.octets)
		log.Info("Transfer cut: the peer went or is too slow", "err", err)
		return err
	}
	if err != nil {
		p.counters.transferred(t.kind(), resultFailed, s.octets)
		log.Error(err, "Transfer given up: the zone has a record that cannot be sent")
		return err
	}
	p.counters.transferred(t.kind(), resultSent, s.octets)
	log.V(1).Info("Transferred")
	return nil
}

func (p *Primary) track(conn net.Conn, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if open {
		p.conns[conn] = struct{}{}
	} else {
		delete(p.conns, conn)
	}
}

// wakeConns ends every read that waits; transfers that run go on.
func (p *Primary) wakeConns() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		conn.SetReadDeadline(time.Unix(1, 0))
	}
}

func (p *Primary) closeConns() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		conn.Close()
	}
}
