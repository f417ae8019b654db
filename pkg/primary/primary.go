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
	"kubi.zone/kubizone/pkg/zoneview"
)

// What the operating system says, named for what it means here.
var (
	errAddrInUse = syscall.EADDRINUSE
	errRefused   = syscall.ECONNREFUSED
)

// Primary is a hidden primary: it hands zones to secondaries and answers nobody else.
type Primary struct {
	config    Config
	responder *responder
	catalogs  *zoneview.Set // a zone of each class that has a catalog
	stirred   *stirred
	pairs     []pair
	log       klog.Logger
	counters  counters

	changing  sync.Mutex // held while the roster is replaced
	classKeys map[string]keyring

	peers, outsiders *budget // TCP connections
	newcomers        *newcomers
	waiting          *budget // those for which there is no place yet, but of outsiders
	transfers        *budget
	messages         sync.Pool // *message, one a running transfer

	stopping chan struct{}
	stop     func()
	mu       sync.Mutex
	conns    map[net.Conn]struct{}
}

// New checks the configuration, reporting all its faults at once, and opens the listeners.
// The caller then calls Run, or Close when it never does.
func New(config Config) (*Primary, error) {
	c, first, err := config.complete()
	if err != nil {
		return nil, fmt.Errorf("primary: %w", err)
	}
	p := &Primary{
		config:    c,
		catalogs:  zoneview.NewSet(zoneview.Config{}),
		stirred:   newStirred(),
		classKeys: map[string]keyring{"": first.keys},
		log:       c.Logger.WithName("primary"),
		peers:     newBudget(c.MaxConns, c.MaxConnsPerClient),
		newcomers: newNewcomers(c.MaxConns, c.MaxConnsPerClient),
		waiting:   newBudget(c.MaxConns, c.MaxConnsPerClient),
		outsiders: newBudget(max(4, c.MaxConns/16), max(4, c.MaxConns/16)),
		transfers: newBudget(c.MaxTransfers, c.MaxTransfersPerClient),
		stopping:  make(chan struct{}),
		conns:     map[net.Conn]struct{}{},
	}
	p.responder = &responder{zones: c.Zones, catalogs: p.catalogs, clock: c.Clock, cookies: newCookies()}
	p.responder.roster.Store(first)
	p.messages.New = func() any { return newMessage() }
	p.stop = sync.OnceFunc(func() { close(p.stopping) })
	for _, at := range c.Listen {
		l, err := listenPair(at)
		if err != nil {
			p.Close()
			return nil, err
		}
		p.pairs = append(p.pairs, l)
	}
	return p, nil
}

// Addrs are the addresses served, in the order of Config.Listen, with the ports really
// taken; each serves UDP and TCP.
func (p *Primary) Addrs() []netip.AddrPort {
	out := make([]netip.AddrPort, len(p.pairs))
	for i, l := range p.pairs {
		out[i] = l.at
	}
	return out
}

// Close closes the listeners. It is for a Primary that is never run; Run closes them itself.
func (p *Primary) Close() error {
	p.stop()
	for _, l := range p.pairs {
		l.udp.Close()
		l.tcp.Close()
	}
	return nil
}

// Run serves until ctx ends, then lets running transfers finish for StopTimeout, and
// returns when everything it started has ended. It returns nil after ctx ended and an
// error when a listener went away under it. Run is called once.
func (p *Primary) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// Connections outlive ctx by StopTimeout, everything else ends with it.
	connCtx, cutConns := context.WithCancel(context.WithoutCancel(ctx))
	defer cutConns()

	var listeners, conns sync.WaitGroup
	for _, l := range p.pairs {
		for range udpReaders {
			listeners.Go(func() {
				if err := p.serveUDP(ctx, l.udp); err != nil {
					cancel(err)
				}
			})
		}
		listeners.Go(func() {
			if err := p.acceptTCP(ctx, connCtx, l.tcp, &conns); err != nil {
				cancel(err)
			}
		})
		p.log.Info("Serving DNS", "address", l.at.String(), "views", p.config.Views)
	}
	listeners.Go(func() { p.notifyLoop(ctx) })
	listeners.Go(func() { p.publishLoop(ctx) })

	<-ctx.Done()
	p.Close()
	p.wakeConns()
	listeners.Wait()
	ended := make(chan struct{})
	go func() { conns.Wait(); close(ended) }()
	timer := time.NewTimer(p.config.StopTimeout)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		p.log.Info("Cutting transfers that outlast the stop", "after", p.config.StopTimeout)
		cutConns()
		p.closeConns()
		<-ended
	}
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// guard is the last line behind the promise that no packet ends the process: the packet
// is lost, the reason is logged without its content.
func (p *Primary) guard(from netip.AddrPort) {
	if r := recover(); r != nil {
		p.log.Error(fmt.Errorf("panic: %v", r), "Message not answered; this is a defect", "from", from.String(), "stack", string(debug.Stack()))
	}
}

const udpReaders = 2

// answerFromWhereAsked lets a socket bound to all addresses answer from the one that was
// asked; a peer takes no answer from another.
func answerFromWhereAsked(conn *net.UDPConn, at netip.Addr) error {
	if !at.IsUnspecified() {
		return nil
	}
	err6 := ipv6.NewPacketConn(conn).SetControlMessage(ipv6.FlagDst|ipv6.FlagInterface, true)
	err4 := ipv4.NewPacketConn(conn).SetControlMessage(ipv4.FlagDst|ipv4.FlagInterface, true)
	if err6 != nil && err4 != nil {
		return errors.Join(err6, err4)
	}
	return nil
}

func (p *Primary) serveUDP(ctx context.Context, conn *net.UDPConn) error {
	buf := make([]byte, 4096) // longer than any query; what is cut reads as malformed
	for {
		n, session, err := mdns.ReadFromSessionUDP(conn, buf)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			if errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("UDP socket %s was closed while it served", conn.LocalAddr())
			}
			// An ICMP error of an earlier answer is reported here; it says nothing about the socket.
			p.log.V(2).Info("UDP read failed", "err", err)
			if !sleep(ctx, 10*time.Millisecond) {
				return nil
			}
			continue
		}
		p.answerUDP(conn, buf[:n], session)
	}
}

func (p *Primary) answerUDP(conn *net.UDPConn, msg []byte, session *mdns.SessionUDP) {
	from := session.RemoteAddr().(*net.UDPAddr).AddrPort()
	defer p.guard(from)
	a := p.responder.respond(msg, from.Addr().Unmap(), false)
	p.counters.answered(a)
	p.logAnswer(a, from, "udp")
	if a.msg == nil {
		return
	}
	if _, err := mdns.WriteToSessionUDP(conn, a.msg, session); err != nil {
		p.log.V(2).Info("UDP write failed", "to", from.String(), "err", err)
	}
}

func (p *Primary) logAnswer(a answer, from netip.AddrPort, over string) {
	if a.fault != nil {
		p.log.Error(a.fault, "SOA cannot be served", "from", from.String())
	}
	if a.refusal != "" {
		p.log.V(2).Info("Refused", "zone", a.zone.String(), "from", from.String(), "over", over, "why", a.refusal)
	}
}

// sleep reports false when ctx ended first.
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
