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

	"kubi.zone/kubizone/pkg/slots"
)

const (
	// maxConns is how many newcomers are open at once, and how many connections of clients.
	maxConns = 256
	// maxConnsPerAddress is how many of each are open at once from one address.
	maxConnsPerAddress = 32
)

// listener bounds the connections that are open. A connection on which no request was authenticated yet is a newcomer:
// where there are maxConns of these the oldest is cut, so that no number of peers keeps a client out (B6).
type listener struct {
	net.Listener
	newcomers, clients *slots.Slots
}

func newListener(of net.Listener) *listener {
	return &listener{of, slots.New(maxConns, maxConnsPerAddress), slots.New(maxConns, maxConnsPerAddress)}
}

// Accept returns the next connection of an address that has not its share yet. Others are closed.
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
		c := &connection{Conn: conn, of: l, from: slots.Client{Network: from.Addr().Unmap()}}
		if c.slot, _ = l.newcomers.Take(c.from, func() { conn.Close() }); c.slot != nil {
			return c, nil
		}
		conn.Close()
	}
}

// connection is one with a slot, which it gives back when it is closed.
type connection struct {
	net.Conn
	of   *listener
	from slots.Client

	mu    sync.Mutex
	slot  *slots.Slot // nil when closed
	known bool        // a client's
}

// Close closes the connection and gives its slot back.
func (c *connection) Close() error {
	err := c.Conn.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.slot != nil {
		c.slot.GiveBack()
		c.slot = nil
	}
	return err
}

// promote makes a newcomer a connection of a client, where there is a slot for one more.
func (c *connection) promote() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known || c.slot == nil {
		return
	}
	if slot, _ := c.of.clients.Take(c.from, nil); slot != nil {
		c.slot.GiveBack()
		c.slot, c.known = slot, true
	}
}

// connectionKey is that of a connection in the context of its requests.
type connectionKey struct{}

// withConnection is the ConnContext of a server.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}

// promoting is authenticate, after which the connection of an authenticated request is one of a client.
func promoting(authenticate func(*http.Request) error) func(*http.Request) error {
	return func(r *http.Request) error {
		err := authenticate(r)
		if c, ok := r.Context().Value(connectionKey{}).(*connection); ok && err == nil {
			c.promote()
		}
		return err
	}
}
