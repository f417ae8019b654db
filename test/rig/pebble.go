// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/miekg/dns"
)

type PebbleConfig struct {
	Zone    string
	Primary netip.AddrPort
	// From is the source address of queries to the hidden primary.
	From   string
	Serial func() (uint32, error)
}

// Pebble is Let's Encrypt's ACME server for tests.
type Pebble struct {
	peer

	// Directory is the ACME directory's URL, Root the CA's file.
	Directory, Root string
	// Resolver answers once the hidden primary has the API's serial: tests need not wait.
	Resolver netip.AddrPort

	config   PebbleConfig
	resolver *dns.Server
	stop     context.CancelFunc
}

func StartPebble(ctx context.Context, c PebbleConfig) (*Pebble, error) {
	program, err := Find("pebble", "hack/install-peers.sh")
	if err != nil {
		return nil, err
	}
	authority, err := NewAuthority("test of ACME")
	if err != nil {
		return nil, err
	}
	p := &Pebble{peer: peer{name: "pebble"}, config: c}
	if err := p.startResolver(); err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority.PEM)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}}
	p.checkUp = func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Directory, nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(request)
		if err == nil {
			err = answer.Body.Close()
		}
		return err
	}
	err = p.launch(ctx, netip.AddrPort{}, func() ([]string, error) {
		p.Directory = "https://" + p.Addr.String() + "/dir"
		return p.configure(program, authority)
	})
	if err != nil {
		p.stopResolver()
		return nil, err
	}
	return p, nil
}

func (p *Pebble) configure(program string, authority *Authority) ([]string, error) {
	serving, err := authority.Serving("127.0.0.1")
	if err != nil {
		return nil, err
	}
	cert, key, err := serving.Write(filepath.Join(p.dir, "serving"))
	if err != nil {
		return nil, err
	}
	p.Root = filepath.Join(p.dir, "root.pem")
	if err := os.WriteFile(p.Root, authority.PEM, 0o600); err != nil {
		return nil, err
	}
	management, err := FreePort()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(p.dir, "pebble.json")
	text := fmt.Appendf(nil, `{"pebble": {"listenAddress": %q, "managementListenAddress": %q, "certificate": %q, "privateKey": %q,
		"httpPort": 5002, "tlsPort": 5001}}`, p.Addr, management, cert, key)
	return []string{"env", "PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=0", "PEBBLE_AUTHZREUSE=0", program, "-config", file,
			"-dnsserver", p.Resolver.String()},
		os.WriteFile(file, text, 0o600)
}

func (p *Pebble) startResolver() (err error) {
	if p.Resolver, err = FreePort(); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	client := &dns.Client{Timeout: 10 * time.Second, Dialer: &net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(p.config.From)}}}
	started, failed := make(chan struct{}), make(chan error, 1)
	p.resolver = &dns.Server{Addr: p.Resolver.String(), Net: "udp", NotifyStartedFunc: func() { close(started) },
		Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
			for !p.isCurrent(client) && ctx.Err() == nil {
				time.Sleep(20 * time.Millisecond)
			}
			if answer, _, err := client.Exchange(q, p.config.Primary.String()); err == nil {
				_ = w.WriteMsg(answer)
			}
		})}
	go func() { failed <- p.resolver.ListenAndServe() }()
	select {
	case <-started:
		return nil
	case err := <-failed:
		return err
	}
}

func (p *Pebble) isCurrent(client *dns.Client) bool {
	serial, err := p.config.Serial()
	if err != nil {
		return false
	}
	answer, _, err := client.Exchange(new(dns.Msg).SetQuestion(p.config.Zone, dns.TypeSOA), p.config.Primary.String())
	if err != nil || len(answer.Answer) != 1 {
		return false
	}
	soa, ok := answer.Answer[0].(*dns.SOA)
	return ok && soa.Serial == serial
}

func (p *Pebble) stopResolver() {
	p.stop()
	_ = p.resolver.Shutdown()
}

func (p *Pebble) Close() error {
	p.stopResolver()
	return p.peer.Close()
}
