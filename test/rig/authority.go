// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

type Authority struct {
	PEM      []byte
	Lifetime time.Duration

	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

type Pair struct{ Cert, Key []byte }

func NewAuthority(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &Authority{key: key, Lifetime: 90 * 24 * time.Hour} // no renewal is late
	pair, err := a.issuePair(key, x509.Certificate{
		Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		IsCA: true, BasicConstraintsValid: true,
	})
	if err != nil {
		return nil, err
	}
	a.PEM = pair.Cert
	block, _ := pem.Decode(pair.Cert)
	a.cert, err = x509.ParseCertificate(block.Bytes)
	return a, err
}

func (a *Authority) Serving(hosts ...string) (Pair, error) {
	template := x509.Certificate{
		Subject: pkix.Name{CommonName: hosts[0]}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.issueLeaf(template)
}

func (a *Authority) Client(user string, groups ...string) (Pair, error) {
	return a.issueLeaf(x509.Certificate{
		Subject: pkix.Name{CommonName: user, Organization: groups}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func (a *Authority) issueLeaf(template x509.Certificate) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	return a.issuePair(key, template)
}

func (a *Authority) issuePair(key *ecdsa.PrivateKey, template x509.Certificate) (Pair, error) {
	var err error
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return Pair{}, err
	}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(a.Lifetime)
	parent := a.cert
	if parent == nil {
		parent = &template
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, parent, key.Public(), a.key)
	if err != nil {
		return Pair{}, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}, nil
}

func (p Pair) TLS() (tls.Certificate, error) { return tls.X509KeyPair(p.Cert, p.Key) }

// Write replaces base.crt and base.key atomically.
func (p Pair) Write(base string) (cert, key string, err error) {
	cert, key = base+".crt", base+".key"
	if err = ReplaceFile(key, p.Key); err == nil {
		err = ReplaceFile(cert, p.Cert)
	}
	return cert, key, err
}

// ReplaceFile sets mode 0600.
func ReplaceFile(path string, content []byte) error {
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	return os.Rename(path+".new", path)
}
