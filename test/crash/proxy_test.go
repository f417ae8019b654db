// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package crash

import (
	"bytes"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"kubi.zone/kubizone/test/must"
)

type proxy struct {
	Addr netip.AddrPort

	to       string
	listener net.Listener

	mu sync.Mutex
	// cut selects the clients whose bytes are held back (nil: none). A cut connection stays open and silent, and
	// continues after the heal.
	cut    func(from netip.AddrPort) bool
	healed chan struct{} // closed at each change of cut
	delay  time.Duration // in each direction
	// lost is the share of segments that arrive a retransmission late. rate bounds the octets a second in each
	// direction; 0: unlimited. After swallows octets, a connection drops everything; 0: never.
	lost      float64
	rate      int
	swallows  int
	swallowed int // directions of connections
	open      map[*net.TCPConn]bool
}

// retransmission is TCP's minimum time before a retransmission (RFC 6298 has a second, Linux 200 ms).
const retransmission = 200 * time.Millisecond

func startProxy(t *testing.T, to netip.AddrPort) *proxy {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	p := &proxy{Addr: listener.Addr().(*net.TCPAddr).AddrPort(), to: to.String(), listener: listener, healed: make(chan struct{}), open: map[*net.TCPConn]bool{}}
	go p.acceptConnections()
	t.Cleanup(func() {
		listener.Close()
		p.healClients()
		p.resetConnections()
	})
	return p
}

// partitionClients holds back the bytes of selected clients, in both directions; nil selects all.
func (p *proxy) partitionClients(held func(from netip.AddrPort) bool) {
	if held == nil {
		held = func(netip.AddrPort) bool { return true }
	}
	p.changeCut(held)
}

func (p *proxy) healClients() { p.changeCut(nil) }

func (p *proxy) changeCut(cut func(netip.AddrPort) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
	close(p.healed)
	p.healed = make(chan struct{})
}

func (p *proxy) delayBytes(by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = by
}

// loseBytes sets the share of lost segments, and the rate of each direction in octets a second.
func (p *proxy) loseBytes(share float64, rate int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost, p.rate = share, rate
}

// swallowAfter silently drops everything after so many octets; 0: nothing.
func (p *proxy) swallowAfter(after int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.swallows = after
}

func (p *proxy) resetConnections() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		c.SetLinger(0)
		c.Close()
	}
}

func (p *proxy) acceptConnections() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.carryConnection(c.(*net.TCPConn))
	}
}

func (p *proxy) carryConnection(client *net.TCPConn) {
	defer client.Close()
	from := client.RemoteAddr().(*net.TCPAddr).AddrPort()
	p.waitForPass(from, nil) // a new connection waits for the heal
	c, err := net.DialTimeout("tcp", p.to, 5*time.Second)
	if err != nil {
		return
	}
	server := c.(*net.TCPConn)
	defer server.Close()
	p.mu.Lock()
	p.open[client], p.open[server] = true, true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.open, client)
		delete(p.open, server)
	}()
	var both sync.WaitGroup
	both.Go(func() { p.carryBytes(from, client, server) })
	both.Go(func() { p.carryBytes(from, server, client) })
	both.Wait()
}

// waitForPass waits until no cut holds this client's bytes back, and returns the healed channel of that moment. free
// is an earlier result for the connection: an unchanged cut is not evaluated again, since that may read all sockets
// of the machine.
func (p *proxy) waitForPass(from netip.AddrPort, free chan struct{}) chan struct{} {
	for {
		p.mu.Lock()
		cut, healed := p.cut, p.healed
		p.mu.Unlock()
		if healed == free || cut == nil || !cut(from) {
			return healed
		}
		<-healed
	}
}

type piece struct {
	bytes []byte
	due   time.Time
}

// carryBytes forwards a direction. Delays of pending bytes overlap.
func (p *proxy) carryBytes(from netip.AddrPort, in, out *net.TCPConn) {
	pending := make(chan piece, 1024)
	go func() {
		defer close(pending)
		buffer := make([]byte, 32<<10)
		for {
			p.mu.Lock()
			size := len(buffer)
			if p.lost > 0 || p.rate > 0 {
				size = 1460 // a packet's payload: each packet may be lost
			}
			p.mu.Unlock()
			n, err := in.Read(buffer[:size])
			if n > 0 {
				p.mu.Lock()
				due := time.Now().Add(p.delay)
				if rand.Float64() < p.lost {
					due = due.Add(retransmission)
				}
				p.mu.Unlock()
				pending <- piece{bytes.Clone(buffer[:n]), due}
			}
			if err != nil {
				return
			}
		}
	}()
	carried, silent := 0, false
	var free chan struct{}
	for x := range pending {
		if silent {
			continue
		}
		time.Sleep(time.Until(x.due))
		free = p.waitForPass(from, free)
		p.mu.Lock()
		rate, swallows := p.rate, p.swallows
		p.mu.Unlock()
		if left := swallows - carried; swallows > 0 && left < len(x.bytes) {
			x.bytes, silent = x.bytes[:max(0, left)], true
			p.mu.Lock()
			p.swallowed++
			p.mu.Unlock()
		}
		if rate > 0 {
			time.Sleep(time.Duration(len(x.bytes)) * time.Second / time.Duration(rate))
		}
		carried += len(x.bytes)
		if _, err := out.Write(x.bytes); err != nil {
			in.Close() // ends the reader
		}
	}
	out.CloseWrite()
}
