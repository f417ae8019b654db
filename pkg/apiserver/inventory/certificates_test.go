// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/test/must"
)

// The end follows a renewed file.
func TestCertificates_haveTheirEnds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tls.crt")
	of := Certificates{}
	of.AddFile("etcd-client", file)
	of.AddFile("etcd-peer", "")
	now := time.Now().Truncate(time.Second)
	issue := func(life time.Duration) []byte {
		return must.Get(pki.Issue(nil, pki.Authority("test"), now, life))(t).CertPEM
	}
	for _, test := range []struct {
		text []byte
		want time.Time
	}{{}, {issue(time.Hour), now.Add(time.Hour)}, {issue(2 * time.Hour), now.Add(2 * time.Hour)}, {text: []byte("no certificate")}} {
		if test.text != nil {
			must.Succeed(t, os.WriteFile(file, test.text, 0o600))
		}
		if got, err := of.EndOf("etcd-client"); len(of) != 1 || !got.Equal(test.want) || (err == nil) == test.want.IsZero() {
			t.Errorf("%v, %v, want %v", got, err, test.want)
		}
	}
}
