// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Certificates begin clockSkew earlier, for clients with a slow clock.
const clockSkew = time.Hour

var ErrForeignKey = errors.New("the key is not the certificate's")

// Pair is a certificate and key. CertPEM has one certificate, KeyPEM is PKCS #8.
type Pair struct {
	Cert            *x509.Certificate
	Key             *ecdsa.PrivateKey
	CertPEM, KeyPEM []byte
}

// ParsePair parses the first certificate and its key. ErrForeignKey means that the key belongs to another certificate,
// or is not ECDSA.
func ParsePair(certPEM, keyPEM []byte) (*Pair, error) {
	certBlock, _ := pem.Decode(certPEM)
	if certBlock == nil {
		return nil, errors.New("the certificate is not PEM")
	}
	keyBlock, _ := pem.Decode(keyPEM)
	if keyBlock == nil {
		return nil, errors.New("the key is not PEM")
	}

	cert, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the certificate: %w", err)
	}
	key, err := x509.ParsePKCS8PrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the key: %w", err)
	}

	private, ok := key.(*ecdsa.PrivateKey)
	if !ok || !private.PublicKey.Equal(cert.PublicKey) {
		return nil, ErrForeignKey
	}
	return &Pair{Cert: cert, Key: private, CertPEM: encodePEM("CERTIFICATE", certBlock.Bytes), KeyPEM: encodePEM("PRIVATE KEY",
		keyBlock.Bytes)}, nil
}

func Authority(commonName string) x509.Certificate {
	return x509.Certificate{
		Subject:               pkix.Name{CommonName: commonName},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
}

// Serving returns a template for the certificate of a TLS server with the given names or addresses.
func Serving(commonName string, hosts []string) x509.Certificate {
	template := x509.Certificate{
		Subject:     pkix.Name{CommonName: commonName},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		// Clients that connect to 192.0.2.1 look for an IP address in the certificate, not for a name.
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return template
}

// Issue returns a new key and a certificate, signed by authority or, if authority is nil, by the key itself. Issue sets
// serial number and validity. The certificate does not outlive the authority.
func Issue(authority *Pair, template x509.Certificate, now time.Time, validity time.Duration) (*Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serialNumber, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}

	template.SerialNumber = serialNumber
	template.NotBefore = now.Add(-clockSkew)
	template.NotAfter = now.Add(validity)
	// Without an authority the certificate is its own issuer.
	issuer, signer := &template, key
	if authority != nil {
		issuer, signer = authority.Cert, authority.Key
		// Clients would refuse a chain whose authority has ended.
		if template.NotAfter.After(issuer.NotAfter) {
			template.NotAfter = issuer.NotAfter
		}
	}

	der, err := x509.CreateCertificate(rand.Reader, &template, issuer, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &Pair{Cert: cert, Key: key, CertPEM: encodePEM("CERTIFICATE", der), KeyPEM: encodePEM("PRIVATE KEY", keyDER)}, nil
}

func (p *Pair) SignedBy(authority *Pair) bool {
	return p.Cert.CheckSignatureFrom(authority.Cert) == nil
}

func (p *Pair) Covers(hosts []string) bool {
	for _, host := range hosts {
		if p.Cert.VerifyHostname(host) != nil {
			return false
		}
	}
	return true
}

func encodePEM(kind string, der []byte) []byte {
	var text bytes.Buffer
	pem.Encode(&text, &pem.Block{Type: kind, Bytes: der}) // cannot fail
	return text.Bytes()
}
