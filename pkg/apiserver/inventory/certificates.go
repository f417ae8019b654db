// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"crypto/x509"
	"errors"
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
	for _, one := range certs {
		if first.IsZero() || one.NotAfter.Before(first) {
			first = one.NotAfter
		}
	}
	if err == nil && first.IsZero() {
		err = errors.New("there is none")
	}
	return first, err
}
