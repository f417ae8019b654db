// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package bindagent

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"kubi.zone/kubizone/test/must"
)

func openAgent(t *testing.T) (address string, dir string) {
	t.Helper()
	dir = t.TempDir()
	writeCertificate(t, dir)
	for file, text := range map[string]string{
		"rndc.key": `key "agent" { algorithm hmac-sha256; secret "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="; };` + "\n",
		"tokens":   "a-token-of-the-file\n",
	} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	o := newOptions()
	o.listen, o.tlsCert, o.tlsKey, o.zoneDir = "127.0.0.1:0", dir+"/tls.crt", dir+"/tls.key", dir
	o.rndcKeyFile, o.tokenFile, o.rndcServer = dir+"/rndc.key", dir+"/tokens", "127.0.0.1:1"
	s := must.Get(o.makeServer(slog.New(slog.DiscardHandler)))(t)
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx, in) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	line := must.Get(bufio.NewReader(out).ReadString('\n'))(t)
	return strings.TrimPrefix(strings.Fields(line)[1], "https://"), dir
}

// B6: 1,000 connections without a token from many addresses lock out neither a new nor a connected client.
func TestListener_peersKeepNoClientOut(t *testing.T) {
	address, dir := openAgent(t)
	authorities := readAuthority(t, dir)
	newClient := func(h2 bool) *http.Client {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities, ServerName: "localhost"}, ForceAttemptHTTP2: h2}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport, Timeout: 2 * time.Minute}
	}
	// ask expects 503, without a named, and reports whether the connection was reused.
	ask := func(client *http.Client) (reused bool, err error) {
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused }})
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/api/v1/server/status", nil)
		if err != nil {
			return false, err
		}
		request.Header.Set("Authorization", "Bearer a-token-of-the-file")
		response, err := client.Do(request)
		if err != nil {
			return false, err
		}
		defer response.Body.Close()
		_, err = io.Copy(io.Discard, response.Body)
		if err == nil && response.StatusCode != http.StatusServiceUnavailable {
			err = fmt.Errorf("status %d", response.StatusCode)
		}
		return reused, err
	}
	before := map[string]*http.Client{"HTTP/1.1": newClient(false), "HTTP/2": newClient(true)}
	for name, client := range before {
		if _, err := ask(client); err != nil {
			t.Fatalf("%s before the flood: %v", name, err)
		}
	}
	hold := func(from int, speak bool) (net.Conn, error) {
		dialer := net.Dialer{Timeout: 2 * time.Minute, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(from+1))}}
		conn, err := dialer.Dial("tcp", address)
		if err != nil || !speak {
			return conn, err
		}
		encrypted := tls.Client(conn, &tls.Config{RootCAs: authorities, ServerName: "localhost"})
		_, err = io.WriteString(encrypted, "GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
		return encrypted, err
	}
	var all sync.WaitGroup
	held := make(chan net.Conn, 1000)
	for from := range 50 {
		all.Go(func() {
			for i := range 20 {
				// The server may close a connection during the handshake.
				if conn, err := hold(from, i == 0); conn != nil && err == nil {
					held <- conn
				}
			}
		})
	}
	all.Wait()
	close(held)
	opened := len(held)
	t.Cleanup(func() {
		for conn := range held {
			conn.Close()
		}
	})
	if opened < 900 {
		t.Fatalf("%d connections were opened, want 900 of 1,000 at least", opened)
	}
	if reused, err := ask(newClient(false)); err != nil || reused {
		t.Errorf("a client that comes after 1,000 connections: %v", err)
	}
	for name, client := range before {
		if reused, err := ask(client); err != nil || !reused {
			t.Errorf("%s, a client that was there: on its connection %v, %v", name, reused, err)
		}
	}
}

type fakeConn struct {
	net.Conn
	from   string
	closed bool
}

func (c *fakeConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(c.from), Port: 40000} }
func (c *fakeConn) Close() error         { c.closed = true; return nil }

type fakeListener struct {
	net.Listener
	next []*fakeConn
}

func (l *fakeListener) Accept() (net.Conn, error) {
	if len(l.next) == 0 {
		return nil, net.ErrClosed
	}
	conn := l.next[0]
	l.next = l.next[1:]
	return conn, nil
}

// B6: each address has a share, all newcomers together have a share whose oldest makes room, and a client's
// connection stays. A connection frees its slot exactly once.
func TestListener_boundsConnections(t *testing.T) {
	below := &fakeListener{}
	l := newListener(below)
	accept := func(from string) (*connection, *fakeConn) {
		t.Helper()
		conn := &fakeConn{from: from}
		below.next = []*fakeConn{conn}
		accepted, err := l.Accept()
		if err != nil {
			return nil, conn
		}
		return accepted.(*connection), conn
	}
	client, ofClient := accept("::ffff:192.0.2.1")
	client.promote()
	client.promote()
	var all []*fakeConn
	for n := range 1000 {
		_, conn := accept(fmt.Sprintf("198.51.100.%d", n%50))
		all = append(all, conn)
	}
	open := func(conns []*fakeConn) (n int) {
		for _, conn := range conns {
			if !conn.closed {
				n++
			}
		}
		return n
	}
	if got, last := open(all), open(all[len(all)-maxConns:]); got != maxConns || last != maxConns || ofClient.closed {
		t.Fatalf("%d of 1,000 connections are open, %d of the last, want %d; that of the client is closed: %v", got, last, maxConns, ofClient.closed)
	}
	var mine []*connection
	for range maxConnsPerAddress {
		one, _ := accept("192.0.2.2")
		mine = append(mine, one)
	}
	if one, conn := accept("192.0.2.2"); one != nil || !conn.closed {
		t.Errorf("connection %d of an address is taken", maxConnsPerAddress+1)
	}
	for range 2 {
		mine[0].Close()
	}
	if one, _ := accept("192.0.2.2"); one == nil {
		t.Error("the slot of a closed connection is not given back")
	}
	if one, _ := accept("192.0.2.2"); one != nil {
		t.Error("the slot of a connection that is closed twice is given back twice")
	}
	// A client beyond the share of its address stays a newcomer, as does a connection that was cut.
	for range maxConnsPerAddress {
		one, _ := accept("::ffff:192.0.2.1")
		one.promote()
		mine = append(mine, one)
	}
	if last := mine[len(mine)-1]; last.authenticated {
		t.Errorf("%d connections of an address are those of clients", maxConnsPerAddress+1)
	}
	client.Close()
	mine[len(mine)-1].promote()
	if last := mine[len(mine)-1]; !last.authenticated {
		t.Error("the slot of a client that went is not given back")
	}
}
