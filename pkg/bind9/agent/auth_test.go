// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"kubi.zone/kubizone/test/must"
)

func requestBearing(token string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/api/v1/zones", nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

func statusOf(err error) int {
	var reported *problem
	if !errors.As(err, &reported) {
		return 0
	}
	return reported.status
}

// The agent reads the token file for every request, so a replaced file is effective at once. Each line is a token; a
// file that is empty or has a short token lets no request in.
func TestTokenFile_isReadForEachRequest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	must.Succeed(t, os.WriteFile(path, []byte("first-token-of-the-file\nsecond-token-of-the-file\n"), 0o600))
	for token, want := range map[string]int{
		"first-token-of-the-file": 0, "second-token-of-the-file": 0, "": 401, "first-token-of-the-fil": 401,
		"first-token-of-the-file\nsecond-token-of-the-file": 401, "other": 401,
	} {
		if err := TokenFile(path).Authenticate(requestBearing(token)); statusOf(err) != want || (want == 0) != (err == nil) {
			t.Errorf("%q: %v, want %d", token, err, want)
		}
	}
	for _, text := range []string{"", "short"} {
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
		if err := TokenFile(path).Authenticate(requestBearing(text)); err == nil {
			t.Errorf("with the file %q a request was let in", text)
		}
	}
}
