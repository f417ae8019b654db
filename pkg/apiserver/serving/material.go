// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	certutil "k8s.io/client-go/util/cert"

	"kubi.zone/kubizone/pkg/kit/pki"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	leafLife      = 90 * 24 * time.Hour

	// Keys of a kubernetes.io/tls Secret. ca.crt has all trusted authorities, the signer first.
	leafCertKey      = corev1.TLSCertKey
	leafPrivateKey   = corev1.TLSPrivateKeyKey
	authorityCertKey = corev1.ServiceAccountRootCAKey
	authorityKeyKey  = "ca.key"
)

type material struct {
	authority, leaf *pki.Pair
	// trust has the signing authority, then older authorities whose leaves replicas may still serve.
	trust []*x509.Certificate
}

// parseMaterial returns nil for an empty Secret, which an administrator may create.
func parseMaterial(data map[string][]byte) (*material, error) {
	var missing []string
	for _, key := range []string{leafCertKey, leafPrivateKey, authorityCertKey, authorityKeyKey} {
		if len(data[key]) == 0 {
			missing = append(missing, key)
		}
	}
	// All four keys are missing: the Secret is empty.
	if len(missing) == 4 {
		return nil, nil
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("it has no %q", missing)
	}
	trust, err := certutil.ParseCertsPEM(data[authorityCertKey])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", authorityCertKey, err)
	}
	authority, err := pki.ParsePair(data[authorityCertKey], data[authorityKeyKey])
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", authorityCertKey, authorityKeyKey, err)
	}
	leaf, err := pki.ParsePair(data[leafCertKey], data[leafPrivateKey])
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", leafCertKey, leafPrivateKey, err)
	}
	if !leaf.SignedBy(authority) {
		return nil, errors.New(leafCertKey + " is not signed by the first certificate of " + authorityCertKey)
	}
	return &material{authority: authority, leaf: leaf, trust: trust}, nil
}

func (m *material) data() map[string][]byte {
	return map[string][]byte{
		leafCertKey: m.leaf.CertPEM, leafPrivateKey: m.leaf.KeyPEM,
		authorityCertKey: m.bundle(), authorityKeyKey: m.authority.KeyPEM,
	}
}

func (m *material) bundle() []byte {
	var text bytes.Buffer
	for _, cert := range m.trust {
		pem.Encode(&text, &pem.Block{Type: certutil.CertificateBlockType, Bytes: cert.Raw}) // cannot fail
	}
	return text.Bytes()
}

// renewIfDue returns the material with renewed parts, and why. The receiver is nil for an absent or empty Secret; then
// before has the authorities of leaves still served. If settled, no replica serves an older leaf.
func (m *material) renewIfDue(before []*x509.Certificate, hosts []string, settled bool, now time.Time) (after *material, why string,
	err error) {
	if m != nil {
		before = m.trust
	}
	switch {
	case m == nil:
		why = "there was none"
	case isDue(m.authority.Cert, now):
		why = "two thirds of the authority's life are over"
	}
	// A new authority: older authorities stay trusted while replicas serve their leaves.
	if why != "" {
		authority, err := pki.Issue(nil, pki.Authority("kubizone serving authority"), now, authorityLife)
		if err != nil {
			return nil, "", err
		}
		leaf, err := pki.Issue(authority, pki.Serving("kubizone", hosts), now, leafLife)
		if err != nil {
			return nil, "", err
		}
		return &material{authority: authority, leaf: leaf, trust: append([]*x509.Certificate{authority.Cert}, alive(before, now)...)}, why,
			nil
	}

	// The same authority: renew the leaf if due, and drop authorities without served leaves.
	next := *m
	switch {
	case isDue(m.leaf.Cert, now):
		why = "two thirds of the certificate's life are over"
	case !m.leaf.Covers(hosts):
		why = fmt.Sprintf("the certificate did not cover all of %q", hosts)
	}
	if why != "" {
		if next.leaf, err = pki.Issue(m.authority, pki.Serving("kubizone", hosts), now, leafLife); err != nil {
			return nil, "", err
		}
	}

	keep := alive(m.trust, now)
	if settled {
		keep = keep[:1]
	}
	if len(keep) < len(m.trust) {
		next.trust = keep
		if why == "" {
			why = "authorities before the present one are not needed any more"
		}
	}
	if why == "" {
		return m, "", nil
	}
	return &next, why, nil
}

func isDue(cert *x509.Certificate, now time.Time) bool {
	life := cert.NotAfter.Sub(cert.NotBefore)
	return now.Before(cert.NotBefore) || !now.Before(cert.NotBefore.Add(life*2/3))
}

func alive(certs []*x509.Certificate, now time.Time) []*x509.Certificate {
	return slices.DeleteFunc(slices.Clone(certs), func(cert *x509.Certificate) bool { return now.After(cert.NotAfter) })
}

type identity [sha256.Size]byte

func identify(cert *x509.Certificate) identity { return sha256.Sum256(cert.Raw) }

func containsAuthority(caBundle []byte, authority *x509.Certificate) bool {
	certs, err := certutil.ParseCertsPEM(caBundle)
	return err == nil && slices.ContainsFunc(certs, authority.Equal)
}
