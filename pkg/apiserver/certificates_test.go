// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/pki"
	"kubi.zone/kubizone/test/must"
)

// The metric follows a renewed file, and is 0 for one that cannot be read.
func TestMetrics_haveTheEndOfCertificates(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tls.crt")
	m := &Metrics{certificates: map[string]func() []byte{}}
	m.addCertificateFile("etcd-client", file)
	m.addCertificateFile("etcd-peer", "")
	now := time.Now().Truncate(time.Second)
	issue := func(life time.Duration) []byte {
		return must.Get(pki.Issue(nil, pki.Authority("test"), now, life))(t).CertPEM
	}
	for _, test := range []struct {
		text []byte
		want float64
	}{{nil, 0}, {issue(time.Hour), float64(now.Add(time.Hour).Unix())}, {issue(2 * time.Hour), float64(now.Add(2 * time.Hour).Unix())},
		{[]byte("no certificate"), 0}} {
		if test.text != nil {
			must.Succeed(t, os.WriteFile(file, test.text, 0o600))
		}
		if got := m.measureCertificates(); len(got) != 1 || got["etcd-client"] != test.want {
			t.Errorf("%v, want %v", got, test.want)
		}
	}
}
