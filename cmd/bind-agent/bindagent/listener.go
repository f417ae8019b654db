// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package bindagent

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"kubi.zone/kubizone/pkg/kit/slots"
)

const (
	// maxConns bounds the connections of newcomers (peers not yet authenticated), and those of clients.
	maxConns           = 256
	maxConnsPerAddress = 32
)

type listener struct {
	net.Listener
	newcomers, clients *slots.Slots
}

func newListener(of net.Listener) *listener {
	return &listener{of, slots.New(maxConns, maxConnsPerAddress), slots.New(maxConns, maxConnsPerAddress)}
}

// Accept closes connections beyond the bound of their address.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from, err := netip.ParseAddrPort(conn.RemoteAddr().String())
		if err != nil {
			conn.Close()
			continue
		}
		c := &connection{Conn: conn, listener: l, client: slots.Client{Network: from.Addr().Unmap()}}
		// Take may close the oldest newcomer in favour of this connection (B6). Without a slot, the address has too
		// many.
		if c.slot, _ = l.newcomers.Take(c.client, func() { conn.Close() }); c.slot != nil {
			return c, nil
		}
		conn.Close()
	}
}

type connection struct {
	net.Conn
	listener *listener
	client   slots.Client

	mu            sync.Mutex
	slot          *slots.Slot // nil when closed
	authenticated bool
}

func (c *connection) Close() error {
	err := c.Conn.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.slot != nil {
		c.slot.Release()
		c.slot = nil
	}
	return err
}

// promote moves an authenticated connection from the newcomers to the clients, where it is closed in favour of no
// other. Without a free slot, the connection stays a newcomer.
func (c *connection) promote() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.authenticated || c.slot == nil {
		return
	}
	if slot, _ := c.listener.clients.Take(c.client, nil); slot != nil {
		c.slot.Release()
		c.slot, c.authenticated = slot, true
	}
}

type connectionKey struct{}

func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}

func promoting(authenticate func(*http.Request) error) func(*http.Request) error {
	return func(r *http.Request) error {
		err := authenticate(r)
		if c, ok := r.Context().Value(connectionKey{}).(*connection); ok && err == nil {
			c.promote()
		}
		return err
	}
}
