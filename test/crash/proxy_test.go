// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package crash

import (
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"
)

// proxy stands between two processes and does to their connections what networks do.
type proxy struct {
	Addr netip.AddrPort

	to       string
	listener net.Listener

	mu sync.Mutex
	// cut says whose bytes are held back (nil: nobody's); a connection that is cut stays open and silent, as one whose
	// packets are dropped, and goes on when it is healed.
	cut    func(from netip.AddrPort) bool
	healed chan struct{} // closed at each change of cut
	delay  time.Duration // of each way
	open   map[*net.TCPConn]bool
}

func startProxy(t *testing.T, to netip.AddrPort) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Addr: listener.Addr().(*net.TCPAddr).AddrPort(), to: to.String(), listener: listener, healed: make(chan struct{}), open: map[*net.TCPConn]bool{}}
	go p.accept()
	t.Cleanup(func() {
		listener.Close()
		p.heal()
		p.reset()
	})
	return p
}

// partition holds back what comes from those whom who names, in both ways; nil names everybody.
func (p *proxy) partition(who func(from netip.AddrPort) bool) {
	if who == nil {
		who = func(netip.AddrPort) bool { return true }
	}
	p.change(who)
}

func (p *proxy) heal() { p.change(nil) }

func (p *proxy) change(cut func(netip.AddrPort) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
	close(p.healed)
	p.healed = make(chan struct{})
}

// late delays every byte from now on.
func (p *proxy) late(by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = by
}

// reset ends every connection in the middle of whatever it carries.
func (p *proxy) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		c.SetLinger(0)
		c.Close()
	}
}

func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.carry(c.(*net.TCPConn))
	}
}

func (p *proxy) carry(client *net.TCPConn) {
	defer client.Close()
	from := client.RemoteAddr().(*net.TCPAddr).AddrPort()
	p.pass(from) // a connection through a cut is not made before it is healed
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
	both.Go(func() { p.flow(from, client, server) })
	both.Go(func() { p.flow(from, server, client) })
	both.Wait()
}

// pass returns when nothing holds bytes of this client back.
func (p *proxy) pass(from netip.AddrPort) {
	for {
		p.mu.Lock()
		cut, healed := p.cut, p.healed
		p.mu.Unlock()
		if cut == nil || !cut(from) {
			return
		}
		<-healed
	}
}

type piece struct {
	bytes []byte
	due   time.Time
}

// flow carries one way. Bytes in flight are delayed together, not one after the other.
func (p *proxy) flow(from netip.AddrPort, in, out *net.TCPConn) {
	flight := make(chan piece, 1024)
	go func() {
		defer close(flight)
		for {
			b := make([]byte, 32<<10)
			n, err := in.Read(b)
			if n > 0 {
				p.mu.Lock()
				due := time.Now().Add(p.delay)
				p.mu.Unlock()
				flight <- piece{b[:n], due}
			}
			if err != nil {
				return
			}
		}
	}()
	for x := range flight {
		time.Sleep(time.Until(x.due))
		p.pass(from)
		if _, err := out.Write(x.bytes); err != nil {
			in.Close() // ends the reader
		}
	}
	out.CloseWrite()
}
