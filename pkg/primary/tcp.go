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

	"golang.org/x/time/rate"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/kit/slots"
	"kubi.zone/kubizone/pkg/kit/traces"
)

const (
	// slotWait limits the wait for a connection slot, and is shorter than the timeouts of peers.
	slotWait     = 4 * time.Second
	unprovenIdle = 2 * time.Second
)

type tcpServer struct {
	*server
	config *Config

	peers, outsiders *slots.Slots
	// tenants has slots for the peers of tenants, because a tenant controls the number and speed of its peers.
	tenants struct{ conns, waiting, transfers *slots.Slots }
	// newcomers has slots for sources that must sign a message to be admitted. If all are taken, a new connection
	// closes the oldest, because peers sign their first message at once.
	newcomers *slots.Slots
	waiting   *slots.Slots // for connections without a slot, except outsiders'
	transfers *slots.Slots
	messages  sync.Pool
	strangers *rate.Limiter // handshakes of sources that no class lists

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
		strangers: rate.NewLimiter(strangerHandshakes, 2*strangerHandshakes),
	}
	s.tenants.conns, s.tenants.waiting = slots.New(c.MaxConns, c.MaxConnsPerClient), slots.New(c.MaxConns, c.MaxConnsPerClient)
	s.tenants.transfers = slots.New(c.MaxTransfers, max(1, c.MaxTransfers/4))
	return s
}

// acceptConnections serves new connections until ctx ends. A connection without a slot waits briefly, unread, because
// BIND treats a primary that closes connections as dead for minutes.
//
// With overTLS, a connection begins with a handshake.
func (s *tcpServer) acceptConnections(ctx, workCtx context.Context, l *net.TCPListener, overTLS bool, conns *sync.WaitGroup) error {
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
			s.log.V(2).Info("Accept failed", "err", err)
			if !sleep(ctx, pause) {
				return nil
			}
			// Out of file descriptors, for example. Accept fails until a connection ends.
			pause = min(2*pause, time.Second)
			continue
		}

		pause = 5 * time.Millisecond
		from := conn.RemoteAddr().(*net.TCPAddr).AddrPort()
		c := &connection{tcp: conn, conn: conn, overTLS: overTLS, from: from, client: from.Addr().Unmap()}
		// Nothing was read yet, so only the address tells which slots the connection may use.
		level := s.classes.registry.Load().trustOf(c.client)

		if slot, _ := s.takeSlot(c, level); slot != nil {
			conns.Go(func() { s.serveConnection(workCtx, c) })
			continue
		}

		// Wait for a slot, unless the source is an outsider.
		var waitSlot *slots.Slot
		if level != outsider {
			waitSlot, _ = s.waiting.Take(clientOf(c.client, ""), nil)
		}

		if waitSlot == nil {
			s.refuseConnection(c)
			continue
		}

		conns.Go(func() {
			if !s.waitForSlot(ctx, c, level, waitSlot) {
				s.refuseConnection(c)
				return
			}
			s.serveConnection(workCtx, c)
		})
	}
}

type connection struct {
	tcp *net.TCPConn
	// conn is tcp, or TLS above tcp.
	conn    net.Conn
	overTLS bool
	tls     *tlsPeer // nil before the handshake, and in clear
	from    netip.AddrPort
	client  netip.Addr
	tenant  string // set if only classes of tenants admit the peer
	trust   trust
	slot    *slots.Slot
	idle    time.Duration
}

// clientOf groups IPv6 addresses by /64, the smallest network of a host.
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

// takeSlot takes a slot of the kind for the source's trust, and sets the connection's slot and idle time. Without a
// free slot, p is nil and freed signals when to try again.
func (s *tcpServer) takeSlot(c *connection, level trust) (p *slots.Slot, freed <-chan struct{}) {
	kind, cut := s.outsiders, (func())(nil)
	c.trust, c.idle = level, min(s.config.IdleTimeout, unprovenIdle)

	switch level {
	case unproven:
		// A newer connection may call cut at any time.
		kind, cut = s.newcomers, func() {
			s.counters.count(func(s *Stats) { s.ConnectionsRefused++ })
			c.tcp.Close() // a close of TLS would wait for the peer
		}
	case peer:
		kind, c.idle = s.peers, s.config.IdleTimeout
		if c.tenant != "" {
			kind = s.tenants.conns
		}
	}

	c.slot, freed = kind.Take(clientOf(c.client, c.tenant), cut)
	return c.slot, freed
}

// promoteNewcomer moves a connection to a peer's slot after its first admitted message. It returns false if the
// connection is closed: no slot became free, or a newer connection has cut it.
func (s *tcpServer) promoteNewcomer(ctx context.Context, c *connection, tenant string) bool {
	if !c.slot.Release() {
		return false
	}

	c.tenant = tenant
	waiting := s.waiting
	if tenant != "" {
		waiting = s.tenants.waiting
	}

	if p, _ := s.takeSlot(c, peer); p != nil {
		return true
	}

	// The message is answered after the wait. Meanwhile the connection is not read.
	if waits, _ := waiting.Take(clientOf(c.client, tenant), nil); waits != nil && s.waitForSlot(ctx, c, peer, waits) {
		return true
	}
	s.refuseConnection(c)
	return false
}

// waitForSlot waits up to slotWait for a slot, and always gives back the place in the queue. It returns false without a
// slot.
func (s *tcpServer) waitForSlot(ctx context.Context, c *connection, level trust, waits *slots.Slot) bool {
	defer waits.Release()
	turn, cancel := context.WithTimeout(ctx, slotWait)
	defer cancel()
	return slots.TakeWhenFreed(turn, func() (*slots.Slot, <-chan struct{}) { return s.takeSlot(c, level) }) != nil
}

func (s *tcpServer) refuseConnection(c *connection) {
	s.counters.count(func(s *Stats) { s.ConnectionsRefused++ })
	s.log.V(2).Info("Connection over the limit closed", "from", c.from.String())
	c.tcp.Close()
}

// serveConnection answers messages in order, because clients may pipeline them (RFC 7766 §6.2.1.1).
func (s *tcpServer) serveConnection(ctx context.Context, c *connection) {
	defer func() {
		if c.slot != nil {
			c.slot.Release()
		}
	}()
	defer func() { c.conn.Close() }()
	defer s.recoverPanic(c.from)
	s.trackConn(c.tcp, true)
	defer s.trackConn(c.tcp, false)
	if c.overTLS && s.acceptTLS(ctx, c) != nil {
		return
	}
	for {
		msg, err := s.readMessage(c)
		if err != nil {
			return
		}

		a := s.handleMessage(msg, c.from, sender{c.client, true, c.tls})
		if c.trust == unproven && a.admitted && !s.promoteNewcomer(ctx, c, a.tenant) {
			return
		}

		switch {
		case a.update != nil:
			rcode := uint16(rcodeServFail)
			if s.updates.Enter(&a.update.Message) {
				rcode = s.updates.Apply(ctx, &a.update.Message, updateTimeTCP)
			}
			err = s.writeMessage(c, s.replyUpdate(a.update, rcode))
		case a.transfer != nil:
			err = s.serveTransfer(ctx, c, a.transfer, a.tenant)
		case a.msg != nil:
			err = s.writeMessage(c, a.msg)
		// No answer at all, as for a response sent as a question. The sender speaks no DNS, so close.
		default:
			return
		}
		if err != nil {
			return
		}
	}
}

// readMessage reads a message with its length octets. A peer may be silent for the connection's idle time, but the rest
// of a message must arrive within ReadTimeout.
func (s *tcpServer) readMessage(c *connection) ([]byte, error) {
	c.conn.SetReadDeadline(time.Now().Add(c.idle))
	// If wakeConns set its deadline before the line above, stopping is already closed.
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

func (s *tcpServer) writeFramed(c *connection, framed []byte, end time.Time) error {
	deadline := time.Now().Add(s.config.WriteTimeout)
	if !end.IsZero() && end.Before(deadline) {
		deadline = end
	}
	c.conn.SetWriteDeadline(deadline)
	_, err := c.conn.Write(framed)
	return err
}

// serveTransfer waits for a slot and sends the transfer. After an error the caller must close the connection, so that
// the peer sees an incomplete transfer.
func (s *tcpServer) serveTransfer(ctx context.Context, c *connection, t *transfer, tenant string) error {
	transfers := s.transfers
	if tenant != "" {
		transfers = s.tenants.transfers
	}

	log := s.log.WithValues("zone", t.zone.Header().FQDN.String(), "serial", uint32(t.zone.Serial()), "to", c.from.String())
	if tenant != "" {
		log = log.V(2) // a tenant's peers could flood the log
	}

	// 1. Wait for a slot.
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
	defer place.Release()

	// 2. Choose the records: a share, a difference or the zone.
	if t.shareKey != nil {
		if err := s.readShare(turn, t); err != nil {
			s.counters.countTransfer(t.kind(), ResultFailed, 0)
			log.Info("Transfer of an update key's share failed", "key", t.shareKey.ID, "err", err)
			return s.writeMessage(c, s.replyStatus(t.request, t.key, rcodeServFail))
		}
	}

	s.classes.readDifference(t)
	span := s.classes.startTransfer(t, c.from)

	// 3. Send them. Each message extends the time for the whole, so that only slow peers are cut.
	m := s.messages.Get().(*message)
	defer s.messages.Put(m)

	start := time.Now()
	end := start.Add(s.config.WriteTimeout)
	perOctet := float64(time.Second) / float64(s.config.LeastRate)
	sent, err := t.sendTransfer(m, s.config.Clock, func(framed []byte) error {
		end = end.Add(time.Duration(float64(len(framed)) * perOctet))
		return s.writeFramed(c, framed, end)
	})

	// 4. Log and count the result.
	log = log.WithValues("records", sent.records, "messages", sent.messages, "octets", sent.octets, "took", time.Since(start))
	if t.key != nil {
		log = log.WithValues("key", t.key.String())
	}
	traces.End(span, err != nil, "cut")

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
