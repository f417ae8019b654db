// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
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
	// Certificates are renewed only at a start, so renewBefore also bounds a process's run time.
	renewBefore = 365 * 24 * time.Hour
	// AdminUser and AdminGroup are in the administrator's certificate.
	AdminUser  = "kubizone-admin"
	AdminGroup = "system:masters"
)

// Bundle has credentials in PEM, keys in PKCS #8.
type Bundle struct {
	CA                      []byte
	ServingCert, ServingKey []byte
	AdminCert, AdminKey     []byte
}

// Open reads the bundle in dir, and issues missing or invalid parts (P2). The serving certificate is valid for hosts.
func Open(dir string, hosts []string, now time.Time) (*Bundle, error) {
	if err := makePrivateDir(dir); err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	// 1. The authority. A new authority makes both certificates below invalid, so they are issued again.
	authority, err := ensurePair(dir, "ca", func(existing *Pair) (*Pair, error) {
		if existing != nil && existing.Cert.IsCA && lasts(existing, now) {
			return existing, nil
		}
		return Issue(nil, Authority("kubizone standalone authority"), now, validity)
	})
	if err != nil {
		return nil, err
	}

	ensureLeaf := func(name string, template x509.Certificate, fits func(existing *Pair) bool) (*Pair, error) {
		return ensurePair(dir, name, func(existing *Pair) (*Pair, error) {
			if existing != nil && lasts(existing, now) && existing.SignedBy(authority) && fits(existing) {
				return existing, nil
			}
			return Issue(authority, template, now, validity)
		})
	}
	// 2. The server's certificate, issued again if --listen or this machine's addresses change.
	coversHosts := func(existing *Pair) bool { return existing.Covers(hosts) }
	serving, err := ensureLeaf("serving", Serving("kubizone", hosts), coversHosts)
	if err != nil {
		return nil, err
	}
	// 3. The administrator's certificate, for the kubeconfig.
	isAdmin := func(existing *Pair) bool { return slices.Contains(existing.Cert.Subject.Organization, AdminGroup) }
	admin, err := ensureLeaf("admin", adminTemplate(), isAdmin)
	if err != nil {
		return nil, err
	}
	return &Bundle{
		CA:          authority.CertPEM,
		ServingCert: serving.CertPEM, ServingKey: serving.KeyPEM,
		AdminCert: admin.CertPEM, AdminKey: admin.KeyPEM,
	}, nil
}

func makePrivateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.Chmod(dir, 0o700)
}

func adminTemplate() x509.Certificate {
	return x509.Certificate{
		Subject:     pkix.Name{CommonName: AdminUser, Organization: []string{AdminGroup}},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

// Kubeconfig returns the administrator's kubeconfig with embedded certificates. The server is an https URL.
func (b *Bundle) Kubeconfig(server string) ([]byte, error) {
	const name = "kubizone"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: b.CA}
	config.AuthInfos[AdminUser] = &clientcmdapi.AuthInfo{ClientCertificateData: b.AdminCert, ClientKeyData: b.AdminKey}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: AdminUser, Namespace: "default"}
	config.CurrentContext = name
	return clientcmd.Write(*config)
}

// Hosts returns the names and addresses for a server's certificate: loopback and host. If host is "", 0.0.0.0 or ::,
// this machine's name and addresses replace it.
func Hosts(host string) []string {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	ip := net.ParseIP(host)
	isAnyAddress := host == "" || ip.IsUnspecified()
	if !isAnyAddress {
		return dedupe(append(hosts, host))
	}

	// If name or addresses are unknown, remote clients can still use the other.
	name, _ := os.Hostname()
	hosts = append(hosts, name)
	addresses, _ := net.InterfaceAddrs()
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && !network.IP.IsLinkLocalUnicast() {
			hosts = append(hosts, network.IP.String())
		}
	}
	return dedupe(hosts)
}

// dedupe returns the hosts in their order, without repetitions and "".
func dedupe(hosts []string) []string {
	seen := map[string]bool{"": true}
	return slices.DeleteFunc(hosts, func(h string) bool {
		isKnown := seen[h]
		seen[h] = true
		return isKnown
	})
}

// WriteFile atomically replaces a file, with mode 0600 (P1, P3).
func WriteFile(name string, text []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = temporary.Write(text)
	if err == nil {
		err = temporary.Sync()
	}
	// A full disk may show only at Close.
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

func lasts(p *Pair, now time.Time) bool {
	return !now.Before(p.Cert.NotBefore) && now.Add(renewBefore).Before(p.Cert.NotAfter)
}

// ensurePair reads the pair name in dir, and writes the pair that choose returns, unless it is the same. have is nil if
// there is no usable pair.
func ensurePair(dir, name string, choose func(have *Pair) (*Pair, error)) (*Pair, error) {
	certFile, keyFile := filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	have, err := readPair(certFile, keyFile)
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
	// The key first: a crash in between leaves a certificate with a foreign key, which readPair takes for none.
	if err := WriteFile(keyFile, chosen.KeyPEM); err != nil {
		return nil, fmt.Errorf("certificate %s: %w", certFile, err)
	}
	if err := WriteFile(certFile, chosen.CertPEM); err != nil {
		return nil, fmt.Errorf("certificate %s: %w", certFile, err)
	}
	return chosen, nil
}

// readPair reads a certificate and its key; nil without an error if a file is missing, or they do not belong together.
func readPair(certFile, keyFile string) (*Pair, error) {
	var keyPEM []byte
	certPEM, err := os.ReadFile(certFile)
	if err == nil {
		keyPEM, err = os.ReadFile(keyFile)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	have, err := ParsePair(certPEM, keyPEM)
	if errors.Is(err, ErrForeignKey) {
		return nil, nil // a crash between two writes leaves this
	}
	if err != nil {
		return nil, fmt.Errorf("certificate: %s and %s: %w; remove both and start again: they are recreated", certFile, keyFile, err)
	}
	return have, nil
}
