// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"os"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/component-base/metrics"
)

var certificateDesc = metrics.NewDesc("kubizone_certificate_expiry_timestamp_seconds", "Time at which a certificate of the server "+
	"ends, in seconds since 1970: serving, etcd-client or etcd-peer; 0 if it cannot be read.", []string{"certificate"}, nil,
	metrics.BETA, "")

// expiryOf returns 0 for an unreadable certificate: an alert then fires.
func expiryOf(text []byte) float64 {
	certs, err := certutil.ParseCertsPEM(text)
	if err != nil {
		return 0
	}
	return float64(certs[0].NotAfter.Unix())
}

// addCertificateFile measures a file, which is read anew each time; "" is none.
func (m *Metrics) addCertificateFile(name, path string) {
	if path != "" {
		m.certificates[name] = func() []byte {
			text, _ := os.ReadFile(path) // unreadable, see expiryOf
			return text
		}
	}
}

func (m *Metrics) measureCertificates() map[string]float64 {
	ends := make(map[string]float64, len(m.certificates))
	for name, read := range m.certificates {
		ends[name] = expiryOf(read())
	}
	return ends
}
