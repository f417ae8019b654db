// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Balancer is a Service with several pods: new connections go in turn to the backends with a passing probe.
type Balancer struct {
	Addr netip.AddrPort

	listener net.Listener
	prober   *http.Client
	stop     context.CancelFunc
	running  sync.WaitGroup

	mu       sync.Mutex
	backends []netip.AddrPort
	ready    []netip.AddrPort
	unready  bool
	next     int
	open     map[net.Conn]struct{}
}

// A kubelet's is longer; tests would wait.
const probeInterval = 100 * time.Millisecond

// A kubelet's is shorter, but tolerates several late answers.
const probeTimeout = 10 * time.Second

func StartBalancer() (*Balancer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	b := &Balancer{
		Addr: listener.Addr().(*net.TCPAddr).AddrPort(), listener: listener, stop: stop, open: map[net.Conn]struct{}{},
		// A kubelet's probe verifies no certificate either. A new connection notices a closed listener.
		prober: &http.Client{Timeout: probeTimeout, Transport: &http.Transport{
			DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		}},
	}
	b.running.Go(b.acceptConnections)
	b.running.Go(func() { b.probeBackends(ctx) })
	return b, nil
}

// Set replaces the backends. A new backend must pass a probe.
func (b *Balancer) Set(backends ...netip.AddrPort) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.backends = backends
}

// SendToUnready sets whether unready backends get connections too, as by late endpoints or publishNotReadyAddresses.
func (b *Balancer) SendToUnready(yes bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unready = yes
}

func (b *Balancer) Ready() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.ready)
}

func (b *Balancer) probeBackends(ctx context.Context) {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for {
		b.mu.Lock()
		backends := b.backends
		b.mu.Unlock()
		passed := make([]bool, len(backends))
		var all sync.WaitGroup
		for i, at := range backends {
			all.Go(func() { passed[i] = b.passesProbe(ctx, at) })
		}
		all.Wait()
		var ready []netip.AddrPort
		for i, at := range backends {
			if passed[i] {
				ready = append(ready, at)
			}
		}
		b.mu.Lock()
		b.ready = ready
		b.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (b *Balancer) passesProbe(ctx context.Context, at netip.AddrPort) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+at.String()+"/readyz", nil)
	if err != nil {
		return false
	}
	answer, err := b.prober.Do(request)
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

func (b *Balancer) acceptConnections() {
	for {
		client, err := b.listener.Accept()
		if err != nil {
			return
		}
		b.running.Go(func() { b.carryConnection(client) })
	}
}

// Without a ready backend the client is refused, as by a Service.
func (b *Balancer) carryConnection(client net.Conn) {
	defer client.Close()
	at, ok := b.pickBackend()
	if !ok {
		return
	}
	server, err := net.DialTimeout("tcp", at.String(), 5*time.Second)
	if err != nil {
		return
	}
	defer server.Close()
	if !b.keepConnections(client, server) {
		return
	}
	defer b.forgetConnections(client, server)
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		both.Go(func() {
			io.Copy(way[0], way[1])
			way[0].(*net.TCPConn).CloseWrite()
		})
	}
	both.Wait()
}

func (b *Balancer) pickBackend() (netip.AddrPort, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	to := b.ready
	if b.unready {
		to = b.backends
	}
	if len(to) == 0 {
		return netip.AddrPort{}, false
	}
	b.next++
	return to[b.next%len(to)], true
}

func (b *Balancer) keepConnections(connections ...net.Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open == nil {
		return false
	}
	for _, c := range connections {
		b.open[c] = struct{}{}
	}
	return true
}

func (b *Balancer) forgetConnections(connections ...net.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range connections {
		delete(b.open, c)
	}
}

func (b *Balancer) Close() {
	b.stop()
	b.listener.Close()
	b.mu.Lock()
	for c := range b.open {
		c.Close()
	}
	b.open = nil
	b.mu.Unlock()
	b.running.Wait()
	b.prober.CloseIdleConnections()
}
