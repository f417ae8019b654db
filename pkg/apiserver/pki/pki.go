// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	validity = 10 * 365 * 24 * time.Hour
	// renewBefore is also the longest a process may run before its certificates could expire under it.
	renewBefore = 365 * 24 * time.Hour
	// clockSkew lets a client whose clock is behind use a certificate made just now.
	clockSkew = time.Hour

	// AdminUser is the name the administrator's certificate carries; AdminGroup is what gives it its rights.
	AdminUser  = "kubizone-admin"
	AdminGroup = "system:masters"
)

// Bundle is PEM text, keys in PKCS #8.
type Bundle struct {
	CA                      []byte
	ServingCert, ServingKey []byte
	AdminCert, AdminKey     []byte
}

// Open reads the bundle kept in dir and makes what is missing or no longer good (P2). hosts are the names and addresses
// that the serving certificate must cover; now decides what is still valid.
func Open(dir string, hosts []string, now time.Time) (*Bundle, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	authority, err := ensure(dir, "ca", func(have *pair) (*pair, error) {
		if have != nil && have.cert.IsCA && have.lasts(now) {
			return have, nil
		}
		return issue(nil, x509.Certificate{
			Subject:               pkix.Name{CommonName: "kubizone standalone authority"},
			KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
			IsCA:                  true,
			BasicConstraintsValid: true,
		}, now)
	})
	if err != nil {
		return nil, err
	}
	serving, err := ensure(dir, "serving", func(have *pair) (*pair, error) {
		if have != nil && have.lasts(now) && have.signedBy(authority) && have.covers(hosts) {
			return have, nil
		}
		template := x509.Certificate{
			Subject:     pkix.Name{CommonName: "kubizone"},
			KeyUsage:    x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}
		for _, host := range hosts {
			if ip := net.ParseIP(host); ip != nil {
				template.IPAddresses = append(template.IPAddresses, ip)
			} else {
				template.DNSNames = append(template.DNSNames, host)
			}
		}
		return issue(authority, template, now)
	})
	if err != nil {
		return nil, err
	}
	admin, err := ensure(dir, "admin", func(have *pair) (*pair, error) {
		if have != nil && have.lasts(now) && have.signedBy(authority) && slices.Contains(have.cert.Subject.Organization, AdminGroup) {
			return have, nil
		}
		return issue(authority, x509.Certificate{
			Subject:     pkix.Name{CommonName: AdminUser, Organization: []string{AdminGroup}},
			KeyUsage:    x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}, now)
	})
	if err != nil {
		return nil, err
	}
	return &Bundle{
		CA:          authority.certPEM,
		ServingCert: serving.certPEM, ServingKey: serving.keyPEM,
		AdminCert: admin.certPEM, AdminKey: admin.keyPEM,
	}, nil
}

// Kubeconfig is the administrator's: certificates embedded, one context, namespace default. server is an https URL.
func (b *Bundle) Kubeconfig(server string) ([]byte, error) {
	const name = "kubizone"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: b.CA}
	config.AuthInfos[AdminUser] = &clientcmdapi.AuthInfo{ClientCertificateData: b.AdminCert, ClientKeyData: b.AdminKey}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: AdminUser, Namespace: "default"}
	config.CurrentContext = name
	return clientcmd.Write(*config)
}

// Hosts are the names and addresses under which a server listening on host is reached: always those of loopback, all of
// this machine's when host is unspecified (empty, 0.0.0.0, ::), else host itself.
func Hosts(host string) []string {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	add := func(h string) {
		if h != "" && !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	ip := net.ParseIP(host)
	if host != "" && (ip == nil || !ip.IsUnspecified()) {
		add(host)
		return hosts
	}
	if name, err := os.Hostname(); err == nil {
		add(name)
	}
	// Without them the server still serves: clients elsewhere then need one of the names above.
	addresses, _ := net.InterfaceAddrs()
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && !network.IP.IsLinkLocalUnicast() {
			add(network.IP.String())
		}
	}
	return hosts
}

// WriteFile replaces name by text with mode 0600 (P1, P3).
func WriteFile(name string, text []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = temporary.Write(text)
	if err == nil {
		err = temporary.Sync()
	}
	if closing := temporary.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(temporary.Name(), name)
	}
	if err != nil {
		os.Remove(temporary.Name())
	}
	return err
}

// pair is a certificate and its key, parsed together so that they are known to belong together.
type pair struct {
	cert            *x509.Certificate
	key             crypto.Signer
	certPEM, keyPEM []byte
}

func (p *pair) lasts(now time.Time) bool {
	return !now.Before(p.cert.NotBefore) && now.Add(renewBefore).Before(p.cert.NotAfter)
}

func (p *pair) signedBy(authority *pair) bool {
	return p.cert.CheckSignatureFrom(authority.cert) == nil
}

func (p *pair) covers(hosts []string) bool {
	for _, host := range hosts {
		if p.cert.VerifyHostname(host) != nil {
			return false
		}
	}
	return true
}

// ensure keeps the pair stored under name if choose does, else it stores what choose made. The key goes first: a
// certificate without its key would be kept for good.
func ensure(dir, name string, choose func(have *pair) (*pair, error)) (*pair, error) {
	certFile, keyFile := filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	have, err := read(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	chosen, err := choose(have)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", certFile, err)
	}
	if chosen == have {
		return have, nil
	}
	if err := WriteFile(keyFile, chosen.keyPEM); err != nil {
		return nil, fmt.Errorf("certificate %s: %w", certFile, err)
	}
	if err := WriteFile(certFile, chosen.certPEM); err != nil {
		return nil, fmt.Errorf("certificate %s: %w", certFile, err)
	}
	return chosen, nil
}

// read returns nil for a pair that is not there, or of which a crash left half.
func read(certFile, keyFile string) (*pair, error) {
	certPEM, err := os.ReadFile(certFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	keyPEM, err := os.ReadFile(keyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	certBlock, _ := pem.Decode(certPEM)
	keyBlock, _ := pem.Decode(keyPEM)
	if certBlock == nil || keyBlock == nil {
		return nil, fmt.Errorf("certificate: %s or %s is not PEM; remove both and start again, they are made anew", certFile, keyFile)
	}
	cert, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("certificate: %s: %w; remove it and start again, it is made anew", certFile, err)
	}
	key, err := x509.ParsePKCS8PrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("certificate: %s: %w; remove it and start again, it is made anew", keyFile, err)
	}
	signer, ok := key.(*ecdsa.PrivateKey)
	if !ok || !signer.PublicKey.Equal(cert.PublicKey) {
		return nil, nil
	}
	return &pair{cert: cert, key: signer, certPEM: certPEM, keyPEM: keyPEM}, nil
}

// issue signs template with authority, or with the new key itself when authority is nil.
func issue(authority *pair, template x509.Certificate, now time.Time) (*pair, error) {
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
	issuer, signer := &template, crypto.Signer(key)
	if authority != nil {
		issuer, signer = authority.cert, authority.key
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
	encode := func(kind string, der []byte) []byte {
		var text bytes.Buffer
		pem.Encode(&text, &pem.Block{Type: kind, Bytes: der}) // a bytes.Buffer takes every write
		return text.Bytes()
	}
	return &pair{cert: cert, key: key, certPEM: encode("CERTIFICATE", der), keyPEM: encode("PRIVATE KEY", keyDER)}, nil
}
