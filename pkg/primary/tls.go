// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"time"
)

// ClassTLS is the TLS of a class whose zones are transferred over TLS alone (RFC 9103). It is immutable: a rotated
// certificate or authority is another ClassTLS.
type ClassTLS struct {
	// Certificate is the primary's, with Leaf.
	Certificate tls.Certificate
	// ClientCAs sign the certificates of secondaries. With ClientNames, a certificate must have one of these DNS names.
	ClientCAs   *x509.CertPool
	ClientNames []string
}

// NewClassTLS returns the TLS of a class from PEM: the primary's certificate chain and private key, the authorities of
// clients, and the names of which a client's certificate must have one, if any. The error quotes no value.
func NewClassTLS(certificate, privateKey, authorities []byte, clientNames []string) (*ClassTLS, error) {
	t := &ClassTLS{ClientCAs: x509.NewCertPool(), ClientNames: clientNames}
	var err error
	if t.Certificate, err = tls.X509KeyPair(certificate, privateKey); err != nil {
		return nil, fmt.Errorf("certificate and private key do not make a pair: %w", err)
	}
	if !t.ClientCAs.AppendCertsFromPEM(authorities) {
		return nil, errors.New("there is no certificate of an authority in PEM")
	}
	return t, nil
}

// Equal reports whether both have the same certificates, authorities and names, or both are nil.
func (t *ClassTLS) Equal(other *ClassTLS) bool {
	if t == nil || other == nil {
		return t == other
	}
	return slices.EqualFunc(t.Certificate.Certificate, other.Certificate.Certificate, bytes.Equal) &&
		t.ClientCAs.Equal(other.ClientCAs) && slices.Equal(t.ClientNames, other.ClientNames)
}

// Causes of faults of transfers over TLS.
const (
	TLSNotUsed            = "TLSNotUsed" // in clear, refused
	TLSNoALPN             = "TLSNoALPN"
	TLSVersion            = "TLSVersion"
	TLSNoCertificate      = "TLSNoCertificate"
	TLSUnknownAuthority   = "TLSUnknownAuthority"
	TLSCertificateExpired = "TLSCertificateExpired"
	TLSWrongName          = "TLSWrongName"
	// TLSRefusedByPeer: the peer ends the handshake when it sees the primary's certificate.
	TLSRefusedByPeer = "TLSRefusedByPeer"
	TLSHandshake     = "TLSHandshake" // any other failure, such as a timeout
)

var handshakeCauses = []string{TLSNotUsed, TLSNoALPN, TLSVersion, TLSNoCertificate, TLSUnknownAuthority, TLSCertificateExpired,
	TLSWrongName, TLSRefusedByPeer, TLSHandshake}

// handshakeError is why a handshake fails.
type handshakeError struct{ cause, text string }

func (e *handshakeError) Error() string { return e.text }

// alpn is the token of DNS over TLS (RFC 9103 §7.1).
const alpn = "dot"

const (
	// handshakeTime limits a handshake, in which the peer holds a slot. Two round trips take less.
	handshakeTime = 2 * time.Second
	// strangerHandshakes a second, and twice as many at once, is the limit for all sources that no class lists: each
	// costs a signature, up to some milliseconds with RSA.
	strangerHandshakes = 100
	// maxClientChain limits the signatures to verify of a client: its certificate, and those of authorities.
	maxClientChain = 4
	// refusalKept is the time for which a class that refuses a chain does not verify it again.
	refusalKept = time.Minute
)

// tlsPeer is the sender at the other end of a TLS connection. Only the goroutine of the connection uses it.
type tlsPeer struct {
	chain    []*x509.Certificate
	verdicts map[*ClassTLS]verdict
}

// verdict is the result of a verification: the refusal, nil for none, and the time at which to verify again.
type verdict struct {
	err   error
	until time.Time
}

// judgeFor returns nil if a class accepts the peer's certificate now, and a *handshakeError otherwise. A class that
// rotates its authorities has another ClassTLS, so a long connection is verified again.
func (p *tlsPeer) judgeFor(of *ClassTLS, now time.Time) error {
	known, isKnown := p.verdicts[of]
	if !isKnown || !now.Before(known.until) {
		known.until, known.err = of.verifyClient(p.chain, now)
		p.verdicts[of] = known
	}
	return known.err
}

// verifyClient verifies a client's chain, and returns when to verify it again: after a success, when the first of its
// certificates expires. The error is a *handshakeError.
func (t *ClassTLS) verifyClient(chain []*x509.Certificate, now time.Time) (until time.Time, err error) {
	until = now.Add(refusalKept)
	if len(chain) > maxClientChain {
		return until, &handshakeError{TLSUnknownAuthority, fmt.Sprintf("it sends more than %d certificates", maxClientChain)}
	}
	leaf, rest := chain[0], x509.NewCertPool()
	for _, certificate := range chain[1:] {
		rest.AddCert(certificate)
	}
	found, err := leaf.Verify(x509.VerifyOptions{Roots: t.ClientCAs, Intermediates: rest, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return until, &handshakeError{TLSCertificateExpired, "its certificate, or an authority's, is expired or not valid yet"}
	case err != nil:
		return until, &handshakeError{TLSUnknownAuthority, "no authority of the class has signed its certificate for a client"}
	case len(t.ClientNames) > 0 && !hasName(leaf, t.ClientNames):
		return until, &handshakeError{TLSWrongName, "its certificate has none of the class's clientNames"}
	}
	until = leaf.NotAfter
	for _, certificate := range found[0] {
		if certificate.NotAfter.Before(until) {
			until = certificate.NotAfter
		}
	}
	return until, nil
}

func hasName(certificate *x509.Certificate, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return certificate.VerifyHostname(name) == nil })
}

// handshake is a TLS handshake in progress.
type handshake struct {
	*tcpServer
	from netip.Addr
	// classes are those that the peer may mean. shown is the certificate that it got, or nil.
	classes []tlsClass
	shown   *tls.Certificate
	peer    *tlsPeer
}

// tlsClass is a class with its TLS at the start of a handshake.
type tlsClass struct {
	*Class
	of *ClassTLS
}

// acceptTLS performs the handshake of a connection within handshakeTime. A failure is counted, logged and noted for the
// classes that the peer may mean.
func (s *tcpServer) acceptTLS(ctx context.Context, c *connection) error {
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	h := &handshake{tcpServer: s, from: c.client}
	conn := tls.Server(c.tcp, &tls.Config{GetConfigForClient: h.chooseConfig})
	err := conn.HandshakeContext(ctx)
	if err == nil {
		s.counters.count(func(s *Stats) { s.TLSHandshakes["ok"]++ })
		c.conn, c.tls = conn, h.peer
		return nil
	}
	why := h.explainEnd(err)
	s.counters.count(func(s *Stats) { s.TLSHandshakes[why.cause]++ })
	s.log.V(2).Info("TLS handshake failed", "from", c.from.String(), "cause", why.cause, "why", why.text)
	if h.classes == nil { // it asks for the name of no class, or in clear
		h.classes = s.classes.registry.Load().findTLS("", c.client)
	}
	for _, class := range h.classes {
		s.classes.faults.noteFault(class.Class, c.client, why.cause, why.text, s.config.Clock())
	}
	return why
}

// explainEnd returns the cause of a failed handshake.
func (h *handshake) explainEnd(err error) *handshakeError {
	var ours *handshakeError
	var ended *net.OpError
	var inClear tls.RecordHeaderError
	switch {
	case errors.As(err, &ours):
		return ours
	case errors.As(err, &inClear):
		return &handshakeError{TLSNotUsed, "it begins no TLS at the port for TLS"}
	// crypto/tls has no error value for a client that sends no certificate.
	case err.Error() == "tls: client didn't provide a certificate":
		return &handshakeError{TLSNoCertificate, "it sends no certificate"}
	// A peer that distrusts the certificate should send an alert. BIND 9.18 closes the connection, and the alert of NSD
	// 4.6 cannot be decrypted.
	case h.shown != nil && (errors.Is(err, io.EOF) || errors.As(err, &ended)):
		return &handshakeError{TLSRefusedByPeer, fmt.Sprintf("it does not trust the primary's certificate (valid until %s), and ends the "+
			"handshake: %v", h.shown.Leaf.NotAfter.UTC().Format(time.DateOnly), err)}
	}
	return &handshakeError{TLSHandshake, err.Error()}
}

// chooseConfig returns the configuration for a connection after its first message, before any work with keys. The
// certificate is that of the classes that the client may mean, from their present Secrets.
func (h *handshake) chooseConfig(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	h.classes = h.server.classes.registry.Load().findTLS(hello.ServerName, h.from)
	isListed := slices.ContainsFunc(h.classes, func(class tlsClass) bool { return class.lists(h.from) })
	switch {
	case len(h.classes) == 0:
		return nil, &handshakeError{TLSWrongName,
			fmt.Sprintf("it asks for the name %.100q, which no class's certificate has", hello.ServerName)}
	case !slices.Contains(hello.SupportedVersions, tls.VersionTLS13):
		return nil, &handshakeError{TLSVersion, "it lacks TLS 1.3, which RFC 9103 requires"}
	case !slices.Contains(hello.SupportedProtos, alpn):
		return nil, &handshakeError{TLSNoALPN, `it does not offer the protocol "dot" (ALPN)`}
	case !isListed && !h.strangers.Allow():
		return nil, &handshakeError{TLSHandshake, "no class lists its address, and such servers make too many handshakes"}
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{alpn},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			h.shown = &h.classes[0].of.Certificate
			return h.shown, nil
		},
		// A resumed session would outlive a rotated authority.
		SessionTicketsDisabled: true,
		// VerifyConnection verifies, for each class, with the cause.
		ClientAuth: tls.RequireAnyClientCert, VerifyConnection: h.verifyConnection,
	}, nil
}

// verifyConnection requires that one of the classes accepts the client's certificate. The error is the first class's.
func (h *handshake) verifyConnection(state tls.ConnectionState) (first error) {
	h.peer = &tlsPeer{state.PeerCertificates, map[*ClassTLS]verdict{}}
	for _, class := range h.classes {
		err := h.peer.judgeFor(class.of, h.config.Clock())
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return first
}

// findTLS returns the classes with TLS that a client may mean: those whose certificate has the name that it asks for,
// else those that list its address, else all. BIND 9.18 asks for no name.
func (r *registry) findTLS(serverName string, from netip.Addr) []tlsClass {
	var all, named, listing []tlsClass
	for _, class := range r.classes {
		one := tlsClass{class, class.tlsOf()}
		if one.of == nil {
			continue
		}
		all = append(all, one)
		if serverName != "" && one.of.Certificate.Leaf.VerifyHostname(serverName) == nil {
			named = append(named, one)
		}
		if class.lists(from) {
			listing = append(listing, one)
		}
	}
	switch {
	case serverName != "":
		return named
	case len(listing) > 0:
		return listing
	}
	return all
}
