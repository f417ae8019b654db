// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"crypto/tls"
	"crypto/x509"
	"net/netip"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/test/must"
)

// startTLSServer starts a server of DNS over TLS that has each zone at serial 7, and requires a certificate of the
// authority.
func startTLSServer(t *testing.T, authority, own *pki.Pair) netip.AddrPort {
	t.Helper()
	listener := must.Get(tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{must.Get(tls.X509KeyPair(own.CertPEM, own.KeyPEM))(t)}, NextProtos: []string{"dot"},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: poolOf(authority),
	}))(t)
	server := &mdns.Server{Listener: listener, Handler: mdns.HandlerFunc(func(out mdns.ResponseWriter, m *mdns.Msg) {
		answer := new(mdns.Msg).SetReply(m)
		answer.Authoritative = true
		answer.Answer = []mdns.RR{&mdns.SOA{Hdr: mdns.RR_Header{Name: m.Question[0].Name, Rrtype: mdns.TypeSOA, Class: mdns.ClassINET},
			Ns: ".", Mbox: ".", Serial: 7}}
		out.WriteMsg(answer)
	})}
	go server.ActivateAndServe()
	t.Cleanup(func() { server.Shutdown() })
	return netip.MustParseAddrPort(listener.Addr().String())
}

func poolOf(authority *pki.Pair) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority.CertPEM)
	return pool
}

// The controller asks a server with tlsServer over TLS alone, by name and authority, with its own certificate. A fault
// of the certificates is the server's.
func TestProbe_overTLS_S17_2(t *testing.T) {
	authority := must.Get(pki.Issue(nil, pki.Authority("an authority"), time.Now(), time.Hour))(t)
	issue := func(host string) *pki.Pair {
		template := pki.Serving(host, []string{host})
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
		return must.Get(pki.Issue(authority, template, time.Now(), time.Hour))(t)
	}
	own := issue("primary.example.org")
	at := startTLSServer(t, authority, issue("ns1.example.org"))
	inClear := newSecondary(t, nil)
	p := beginWorld(t).makeProvider(t, Secondary{Name: "a", Addr: inClear.addr})
	shown := []tls.Certificate{must.Get(tls.X509KeyPair(own.CertPEM, own.KeyPEM))(t)}
	for title, test := range map[string]struct {
		host  string
		roots *pki.Pair
		certs []tls.Certificate
		want  string // of the error
	}{
		"of its name":           {"ns1.example.org", authority, shown, ""},
		"of another name":       {"ns2.example.org", authority, nil, "not ns2.example.org"},
		"of another authority":  {"ns1.example.org", own, nil, "unknown authority"},
		"without a certificate": {"ns1.example.org", authority, nil, "certificate required"},
	} {
		s := Secondary{Name: "a", Addr: inClear.addr, TLSAddr: at, TLS: &tls.Config{ServerName: test.host, RootCAs: poolOf(test.roots),
			NextProtos: []string{"dot"}, MinVersion: tls.VersionTLS13, Certificates: test.certs}}
		got := p.probeSOA(t.Context(), s, name.MustParse("example.org."), 5*time.Second)
		if test.want == "" && (got.err != nil || got.serial != 7) {
			t.Errorf("%s: serial %d, %v", title, got.serial, got.err)
		}
		if test.want != "" && (got.err == nil || got.err.Reason != delivery.ReasonServerUnreachable ||
			!strings.Contains(got.err.Error(), test.want)) {
			t.Errorf("%s: %v, want %s", title, got.err, test.want)
		}
	}
	if asked := inClear.asked.Load(); asked != 0 {
		t.Errorf("%d questions in clear", asked)
	}
}

// Of a class with TLS, a server without tlsServer is asked for its serial in clear, and never for the zone: other data
// stay unknown there, as its row says (S17.1).
func TestVerify_transfersNothingInClear_S17_1(t *testing.T) {
	w := beginWorld(t)
	w.OpenClass(t)
	s := newSigningServer(t)
	plan, lines := zoneAt(10, "first")
	w.PutZone(t, plan)
	s.signZone(10, replaceIn(2, "first", "other")(lines)...)
	for isInClear, want := range map[bool]delivery.Content{false: delivery.ContentDiffers, true: delivery.ContentNotCompared} {
		before, _ := s.countTransfers()
		p := w.makeProvider(t, Secondary{Name: "one", Addr: s.addr, InClear: isInClear})
		row := must.Get(p.Verify(t.Context(), plan))(t).Servers[0]
		if after, _ := s.countTransfers(); row.Content != want || row.Serial != 10 || (after == before) != isInClear {
			t.Errorf("in clear %v: %+v after %d transfers", isInClear, row, after-before)
		}
	}
}
