// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"crypto/x509"
	"testing"

	"kubi.zone/kubizone/test/must"
)

// A certificate is valid only under its own authority, for its own names, and for the use (server or client) for which
// it was made.
func TestAuthority_signsServersAndClients(t *testing.T) {
	own := must.Get(NewAuthority("ours"))(t)
	other := must.Get(NewAuthority("other"))(t)
	serving := must.Get(own.Serving("a.example", "127.0.0.1"))(t)
	pair := must.Get(serving.TLS())(t)
	leaf := must.Get(x509.ParseCertificate(pair.Certificate[0]))(t)
	for _, c := range []struct {
		by   *Authority
		host string
		use  x509.ExtKeyUsage
		good bool
	}{
		{own, "a.example", x509.ExtKeyUsageServerAuth, true},
		{own, "127.0.0.1", x509.ExtKeyUsageServerAuth, true},
		{own, "b.example", x509.ExtKeyUsageServerAuth, false},
		{own, "a.example", x509.ExtKeyUsageClientAuth, false},
		{other, "a.example", x509.ExtKeyUsageServerAuth, false},
	} {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(c.by.PEM)
		_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: c.host, KeyUsages: []x509.ExtKeyUsage{c.use}})
		if (err == nil) != c.good {
			t.Errorf("%s for %v: %v", c.host, c.use, err)
		}
	}
}
