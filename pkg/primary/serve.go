// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	mdns "github.com/miekg/dns"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/primary/updates"
)

type server struct {
	*responder
	counters      *counters
	updates       *updates.Queue
	updateWorkers sync.WaitGroup
	log           klog.Logger
}

// handleMessage answers a message, and counts and logs the answer, except an update's, which the caller answers later
// by replyUpdate.
func (s *server) handleMessage(msg []byte, from netip.AddrPort, by sender) answer {
	a := s.answerMessage(msg, by)
	if a.update != nil {
		return a
	}
	s.countAnswer(a)
	if a.advice != "" {
		s.log.Info("Refused: "+a.advice, "from", from.String())
	}
	if a.refusal != "" {
		s.log.V(2).Info("Refused", "zone", a.zone.String(), "from", from.String(), "over", by.transport(), "why", a.refusal)
	}
	return a
}

func (s *server) countAnswer(a answer) {
	s.counters.countAnswer(a)
	if a.fault != nil {
		s.log.Error(a.fault, "A question cannot be answered", "zone", a.zone.String())
	}
}

func (s *server) recoverPanic(from netip.AddrPort) {
	if r := recover(); r != nil {
		s.log.Error(fmt.Errorf("panic: %v", r), "Message not answered; this is a defect", "from", from.String(),
			"stack", string(debug.Stack()))
	}
}

const udpReaders = 2

// serveUDP answers datagrams until ctx ends, beside other readers of the socket. The readers answer questions in
// parallel, and put updates into the queue in order of arrival: of two updates of a TXT that a client sends without
// waiting, the second must stay. The readers share arrival, which is held while a datagram is read, and, of an UPDATE,
// until it is in the queue.
func (s *server) serveUDP(ctx, workCtx context.Context, conn *net.UDPConn, arrival *sync.Mutex) error {
	buf := make([]byte, maxMessage)
	for {
		arrival.Lock()
		n, session, err := mdns.ReadFromSessionUDP(conn, buf)
		isUpdate := err == nil && hasOpcode(buf[:n], opcodeUpdate)
		var reply []byte
		if isUpdate {
			reply = s.handleUDP(workCtx, conn, buf[:n], session)
		}
		arrival.Unlock()

		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			if errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("UDP socket %s was closed while it served", conn.LocalAddr())
			}
			// This is probably an ICMP error caused by an earlier answer. The socket still works.
			s.log.V(2).Info("UDP read failed", "err", err)
			if !sleep(ctx, 10*time.Millisecond) {
				return nil
			}
			continue
		}
		if !isUpdate {
			reply = s.handleUDP(workCtx, conn, buf[:n], session)
		}
		if reply != nil {
			s.writeUDP(conn, reply, session)
		}
	}
}

// handleUDP returns the reply to a datagram, or nil if there is none or, after Apply, a later one.
func (s *server) handleUDP(ctx context.Context, conn *net.UDPConn, msg []byte, session *mdns.SessionUDP) (reply []byte) {
	from := session.RemoteAddr().(*net.UDPAddr).AddrPort()
	defer s.recoverPanic(from)
	a := s.handleMessage(msg, from, sender{addr: from.Addr().Unmap()})
	switch {
	case a.update == nil:
		return a.msg
	// The queue is full. SERVFAIL makes a client try its next server, or later.
	case !s.updates.Enter(&a.update.Message):
		return s.replyUpdate(a.update, rcodeServFail)
	}
	s.updateWorkers.Go(func() {
		defer s.recoverPanic(from)
		s.writeUDP(conn, s.replyUpdate(a.update, s.updates.Apply(ctx, &a.update.Message, updateTimeUDP)), session)
	})
	return nil
}

// replyUpdate returns the reply to an update or a probe with the RCODE of the Handler, and counts it.
func (s *server) replyUpdate(u *pendingUpdate, rcode uint16) []byte {
	var a answer
	switch {
	// A question of an update key, whose rights the Handler has looked up.
	case u.Octets == nil:
		a = s.answerProbe(u, rcode)
	case rcode == tsig.BadTime:
		late := tsig.Verdict{Key: u.key.signing, Err: tsig.BadTime}
		a = answer{msg: s.replyBadSignature(u.request, late, len(u.Octets)), zone: u.request.qname}
	default:
		a = answer{msg: s.replyStatus(u.request, u.key.signing, rcode), zone: u.request.qname}
		s.counters.count(func(s *Stats) { s.Updates[rcodeText(rcode)]++ })
	}
	s.countAnswer(a)
	return a.msg
}

func (s *server) writeUDP(conn *net.UDPConn, msg []byte, session *mdns.SessionUDP) {
	from := session.RemoteAddr()
	if _, err := mdns.WriteToSessionUDP(conn, msg, session); err != nil {
		s.log.V(2).Info("UDP write failed", "to", from.String(), "err", err)
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func listenError(network string, at netip.AddrPort, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s %s: the port is taken by another process (%w); stop that one, or choose another port", network, at, err)
	}
	return fmt.Errorf("%s %s: %w; name an address of this machine and a port that this user may take", network, at, err)
}

type pair struct {
	udp *net.UDPConn
	tcp *net.TCPListener
	at  netip.AddrPort
}

func (p pair) close() {
	p.udp.Close()
	p.tcp.Close()
}

// udpBuffer is the size of the kernel's receive buffer in octets, enough for some thousand questions. Peers repeat a
// lost question only after seconds.
const udpBuffer = 2 << 20

// listenPair opens the TCP and UDP listeners on the same port. For port 0, the port chosen for TCP may be in use for
// UDP, so other ports are tried.
func listenPair(at netip.AddrPort) (pair, error) {
	for attempt := 0; ; attempt++ {
		tcp, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
		if err != nil {
			return pair{}, listenError("tcp", at, err)
		}
		got := tcp.Addr().(*net.TCPAddr).AddrPort()
		both := netip.AddrPortFrom(at.Addr(), got.Port())
		udp, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(both))
		if err == nil {
			// The kernel may grant less.
			_ = udp.SetReadBuffer(udpBuffer)
			err = setReplySource(udp, at.Addr())
			if err == nil {
				return pair{udp: udp, tcp: tcp, at: both}, nil
			}
			udp.Close()
		}
		tcp.Close()
		if at.Port() != 0 || attempt == 16 {
			return pair{}, listenError("udp", both, err)
		}
	}
}

// setReplySource makes the kernel report the destination address of each datagram, for a listener on all addresses.
// Peers drop a reply from another address than the asked.
func setReplySource(conn *net.UDPConn, at netip.Addr) error {
	if !at.IsUnspecified() {
		return nil
	}
	err6 := ipv6.NewPacketConn(conn).SetControlMessage(ipv6.FlagDst|ipv6.FlagInterface, true)
	err4 := ipv4.NewPacketConn(conn).SetControlMessage(ipv4.FlagDst|ipv4.FlagInterface, true)
	// A socket of one family refuses the option of the other.
	if err6 != nil && err4 != nil {
		return errors.Join(err6, err4)
	}
	return nil
}
