// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"crypto/x509"
	"errors"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	certutil "k8s.io/client-go/util/cert"
)

type Certificates map[string]func() ([]*x509.Certificate, error)

func (c Certificates) AddFile(name, path string) {
	if path != "" {
		c[name] = func() ([]*x509.Certificate, error) { return certutil.CertsFromFile(path) }
	}
}

// AddServing adds the serving certificate, and its authority if the server has the key.
func (c Certificates) AddServing(serving dynamiccertificates.CertKeyContentProvider) {
	c["serving"] = func() ([]*x509.Certificate, error) {
		text, _ := serving.CurrentCertKeyContent()
		return certutil.ParseCertsPEM(text)
	}
	if own, ok := serving.(interface{ Authority() *x509.Certificate }); ok {
		c["serving-ca"] = func() ([]*x509.Certificate, error) {
			if ca := own.Authority(); ca != nil {
				return []*x509.Certificate{ca}, nil
			}
			return nil, nil
		}
	}
}

// EndOf returns the earliest expiry of a source's certificates.
func (c Certificates) EndOf(name string) (first time.Time, err error) {
	certs, err := c[name]()
	if err != nil {
		return first, err
	}
	if len(certs) == 0 {
		return first, errors.New("there is none")
	}
	return slices.MinFunc(certs, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) }).NotAfter, nil
}
