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
	"kubi.zone/kubizone/pkg/slots"
)

const (
	// placeWait is how long a connection waits for a place: less than any peer waits for an answer.
	placeWait = 4 * time.Second
	// unprovenIdle is the idle timeout of sources that can only be refused, or have not signed yet.
	unprovenIdle = 2 * time.Second
)

// tcpServer answers over TCP and bounds connections and transfers.
type tcpServer struct {
	*server
	config *Config

	peers, outsiders *slots.Slots // connections
	// tenants are those of peers of tenants. A tenant chooses how many pods ask with its key, and how slowly.
	tenants struct{ conns, waiting, transfers *slots.Slots }
	// newcomers are connections of sources that a key could get allowed and that have shown none yet (attack 78). Where
	// all places are taken the oldest is cut: a peer signs its first message, so it is through in a moment, and what
	// holds a place for longer is not one.
	newcomers *slots.Slots
	waiting   *slots.Slots // connections for which there is no place yet, but of outsiders
	transfers *slots.Slots
	messages  sync.Pool // *message, one a running transfer

	stopping chan struct{}
	mu       sync.Mutex
	conns    map[net.Conn]struct{}
}

func newTCPServer(with *server, c *Config, stopping chan struct{}) *tcpServer {
	s := &tcpServer{
		server: with, config: c, stopping: stopping, conns: map[net.Conn]struct{}{},
		peers: slots.New(c.MaxConns, c.MaxConnsPerClient), outsiders: slots.New(max(4, c.MaxConns/16), max(4, c.MaxConns/16)),
		newcomers: slots.New(c.MaxConns, c.MaxConnsPerClient), waiting: slots.New(c.MaxConns, c.MaxConnsPerClient),
		transfers: slots.New(c.MaxTransfers, c.MaxTransfersPerClient), messages: sync.Pool{New: func() any { return newMessage() }},
	}
	s.tenants.conns, s.tenants.waiting = slots.New(c.MaxConns, c.MaxConnsPerClient), slots.New(c.MaxConns, c.MaxConnsPerClient)
	s.tenants.transfers = slots.New(c.MaxTransfers, max(1, c.MaxTransfers/4))
	return s
}

// acceptConnections takes connections while there is a place for them; beyond it they wait for one for a
// moment, unread, for BIND takes a connection that is closed on it for a primary that is
// down, for minutes, and a catalog of thousands of zones makes hundreds at once. How many
// wait is bounded like how many are served; what is beyond that is closed at once, so that
// a flood costs an accept each and nothing that stays. Sources that no rule could admit
// have a budget of their own, and do not wait; those that a key could admit are newcomers
// until they have signed with it. So neither takes the secondaries' places. Peers of tenants take none of them either:
// once their first message says which tenant it is, they have a place of the tenants.
func (s *tcpServer) acceptConnections(ctx, connCtx context.Context, l *net.TCPListener, conns *sync.WaitGroup) error {
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
			s.log.V(2).Info("Accept failed", "err", err)
			if !sleep(ctx, pause) {
				return nil
			}
			pause = min(2*pause, time.Second)
			continue
		}
		pause = 5 * time.Millisecond
		from := conn.RemoteAddr().(*net.TCPAddr).AddrPort()
		c := &connection{conn: conn, from: from, client: from.Addr().Unmap()}
		is := s.classes.roster.Load().standingOf(c.client)
		if p, _ := s.takePlace(c, is); p != nil {
			conns.Go(func() { s.serveConnection(connCtx, c) })
			continue
		}
		var waits *slots.Slot
		if is != outsider {
			waits, _ = s.waiting.Take(clientOf(c.client, ""), nil)
		}
		if waits == nil {
			s.refuseConnection(c)
			continue
		}
		conns.Go(func() {
			if !s.waitForPlace(ctx, c, is, waits) {
				s.refuseConnection(c)
				return
			}
			s.serveConnection(connCtx, c)
		})
	}
}

// connection is a TCP connection with its place.
type connection struct {
	conn   *net.TCPConn
	from   netip.AddrPort
	client netip.Addr
	tenant string // of the place of a peer that classes of one tenant alone let in
	// is says for which standing of its source it has its place.
	is    standing
	place *slots.Slot
	idle  time.Duration
}

// clientOf is the client that a source is, or the tenant where there is one. Of IPv6 it is the /64, the smallest
// network that a host is given.
func clientOf(a netip.Addr, tenant string) slots.Client {
	if tenant != "" {
		return slots.Client{Tenant: tenant}
	}
	if a.Is6() {
		p, _ := a.WithZone("").Prefix(64)
		a = p.Addr()
	}
	return slots.Client{Network: a}
}

// takePlace takes the place that is right for a source of that standing.
func (s *tcpServer) takePlace(c *connection, is standing) (p *slots.Slot, freed <-chan struct{}) {
	of, cut := s.outsiders, (func())(nil)
	c.is, c.idle = is, min(s.config.IdleTimeout, unprovenIdle)
	switch is {
	case unproven:
		of, cut = s.newcomers, func() {
			s.counters.count(func(s *Stats) { s.ConnectionsRefused++ })
			c.conn.Close()
		}
	case peer:
		of, c.idle = s.peers, s.config.IdleTimeout
		if c.tenant != "" {
			of = s.tenants.conns
		}
	}
	c.place, freed = of.Take(clientOf(c.client, c.tenant), cut)
	return c.place, freed
}

// promoteNewcomer gives a newcomer that has signed a place of the peers, or of the tenants, where there is one within a
// moment.
func (s *tcpServer) promoteNewcomer(ctx context.Context, c *connection, tenant string) bool {
	if !c.place.GiveBack() {
		return false // cut meanwhile
	}
	c.tenant = tenant
	waiting := s.waiting
	if tenant != "" {
		waiting = s.tenants.waiting
	}
	if p, _ := s.takePlace(c, peer); p != nil {
		return true
	}
	if waits, _ := waiting.Take(clientOf(c.client, tenant), nil); waits != nil && s.waitForPlace(ctx, c, peer, waits) {
		return true
	}
	s.refuseConnection(c)
	return false
}

// waitForPlace takes a place as soon as there is one, within placeWait. The connection has one of the waiting places
// and gives it back.
func (s *tcpServer) waitForPlace(ctx context.Context, c *connection, is standing, waits *slots.Slot) bool {
	defer waits.GiveBack()
	turn, cancel := context.WithTimeout(ctx, placeWait)
	defer cancel()
	return slots.TakeWhenFreed(turn, func() (*slots.Slot, <-chan struct{}) { return s.takePlace(c, is) }) != nil
}

func (s *tcpServer) refuseConnection(c *connection) {
	s.counters.count(func(s *Stats) { s.ConnectionsRefused++ })
	s.log.V(2).Info("Connection over the limit closed", "from", c.from.String())
	c.conn.Close()
}

// serveConnection answers the messages of one connection in order (RFC 7766 §6.2.1.1 lets a
// client send several before it reads).
func (s *tcpServer) serveConnection(ctx context.Context, c *connection) {
	defer func() {
		if c.place != nil {
			c.place.GiveBack()
		}
	}()
	defer c.conn.Close()
	defer s.recoverPanic(c.from)
	s.trackConn(c.conn, true)
	defer s.trackConn(c.conn, false)
	for {
		msg, err := s.readMessage(c)
		if err != nil {
			return
		}
		a := s.handleMessage(msg, c.from, "tcp")
		if c.is == unproven && a.admitted && !s.promoteNewcomer(ctx, c, a.tenant) {
			return
		}
		switch {
		case a.update != nil:
			rcode := uint16(rcodeServFail)
			if s.updates.Enter(&a.update.Message) {
				rcode = s.updates.CarryOut(ctx, &a.update.Message, updateTimeTCP)
			}
			err = s.writeMessage(c, s.replyUpdate(a.update, rcode))
		case a.transfer != nil:
			err = s.serveTransfer(ctx, c, a.transfer, a.tenant)
		case a.msg != nil:
			err = s.writeMessage(c, a.msg)
		default: // what deserves no answer deserves no connection
			return
		}
		if err != nil {
			return
		}
	}
}

func (s *tcpServer) readMessage(c *connection) ([]byte, error) {
	c.conn.SetReadDeadline(time.Now().Add(c.idle))
	// wakeConns moves the deadline into the past after closing stopping: whichever of the
	// two came last, the read ends.
	select {
	case <-s.stopping:
		return nil, net.ErrClosed
	default:
	}
	var length [2]byte
	if _, err := io.ReadFull(c.conn, length[:]); err != nil {
		return nil, err
	}
	c.conn.SetReadDeadline(time.Now().Add(s.config.ReadTimeout))
	msg := make([]byte, binary.BigEndian.Uint16(length[:]))
	_, err := io.ReadFull(c.conn, msg)
	return msg, err
}

func (s *tcpServer) writeMessage(c *connection, msg []byte) error {
	return s.writeFramed(c, append(binary.BigEndian.AppendUint16(nil, uint16(len(msg))), msg...), time.Time{})
}

// writeFramed writes octets with their length in front, within WriteTimeout, and before end unless that is zero.
func (s *tcpServer) writeFramed(c *connection, framed []byte, end time.Time) error {
	deadline := time.Now().Add(s.config.WriteTimeout)
	if !end.IsZero() && end.Before(deadline) {
		deadline = end
	}
	c.conn.SetWriteDeadline(deadline)
	_, err := c.conn.Write(framed)
	return err
}

// serveTransfer runs a transfer when it is its turn. An error ends the connection, which
// is how the peer learns that what it has is not whole.
func (s *tcpServer) serveTransfer(ctx context.Context, c *connection, t *transfer, tenant string) error {
	transfers := s.transfers
	if tenant != "" {
		transfers = s.tenants.transfers
	}
	log := s.log.WithValues("zone", t.zone.Header().FQDN.String(), "serial", uint32(t.zone.Serial()), "to", c.from.String())
	if tenant != "" {
		log = log.V(2) // a tenant's peers make as many lines as they like
	}
	turn, cancel := context.WithTimeout(ctx, s.config.TransferWait)
	defer cancel()
	place := slots.TakeWhenFreed(turn, func() (*slots.Slot, <-chan struct{}) { return transfers.Take(clientOf(c.client, tenant), nil) })
	if place == nil {
		s.counters.countTransfer(t.kind(), ResultNoPlace, 0)
		log.Info("Transfer had to wait too long", "waited", s.config.TransferWait)
		q := t.request
		m := newSmallMessage()
		m.beginMessage(q.id, q.replyFlags(0, rcodeServFail), q.question, name.Name{}, maxMessage)
		return s.writeMessage(c, s.finishReply(m, q, t.key, rcodeServFail))
	}
	defer place.GiveBack()
	if t.share != nil {
		if err := s.readShare(turn, t); err != nil {
			s.counters.countTransfer(t.kind(), ResultFailed, 0)
			log.Info("Transfer of an update key's share failed", "key", t.share.ID, "err", err)
			return s.writeMessage(c, s.replyStatus(t.request, t.key, rcodeServFail))
		}
	}
	s.classes.readDifference(t)
	m := s.messages.Get().(*message)
	defer s.messages.Put(m)
	start := time.Now()
	end := start.Add(s.config.WriteTimeout)
	perOctet := float64(time.Second) / float64(s.config.LeastRate)
	sent, err := t.sendTransfer(m, s.config.Clock, func(framed []byte) error {
		end = end.Add(time.Duration(float64(len(framed)) * perOctet))
		return s.writeFramed(c, framed, end)
	})
	log = log.WithValues("records", sent.records, "messages", sent.messages, "octets", sent.octets, "took", time.Since(start))
	if t.key != nil {
		log = log.WithValues("key", t.key.String())
	}
	result := ResultSent
	if _, cut := errors.AsType[*net.OpError](err); cut {
		result = ResultCut
		log.Info("Transfer cut: the peer went or is too slow", "err", err)
	} else if err != nil {
		result = ResultFailed
		log.Error(err, "Transfer given up: the zone has a record that cannot be sent")
	} else {
		log.V(1).Info("Transferred")
	}
	s.counters.countTransfer(t.kind(), result, sent.octets)
	return err
}

func (s *tcpServer) trackConn(conn net.Conn, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open {
		s.conns[conn] = struct{}{}
	} else {
		delete(s.conns, conn)
	}
}

// wakeConns ends every read that waits; transfers that run go on.
func (s *tcpServer) wakeConns() {
	s.eachConn(func(conn net.Conn) { conn.SetReadDeadline(time.Unix(1, 0)) })
}

func (s *tcpServer) closeConns() { s.eachConn(func(conn net.Conn) { conn.Close() }) }

func (s *tcpServer) eachConn(do func(net.Conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		do(conn)
	}
}
