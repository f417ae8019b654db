// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"crypto/x509"
	"os"
	"os/exec"
	"testing"
)

// A controller trusts public CAs in an image without files.
func TestRoots_areThereWithoutASystem(t *testing.T) {
	if os.Getenv("SSL_CERT_FILE") != "/nonexistent" {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		again.Env = append(os.Environ(), "SSL_CERT_FILE=/nonexistent", "SSL_CERT_DIR=/nonexistent")
		if out, err := again.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	roots, err := x509.SystemCertPool()
	if err != nil || roots.Equal(x509.NewCertPool()) {
		t.Errorf("there are no roots: %v", err)
	}
}
