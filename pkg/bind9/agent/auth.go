// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// TokenFile is a file with a bearer token per line, read for each request.
type TokenFile string

const maxTokenFile, minToken = 1 << 16, 16

// Authenticate accepts a request with the bearer token of any line. The error is a 401 for the client, or a fault of
// the token file. A new token counts from the next request on.
func (f TokenFile) Authenticate(r *http.Request) error {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		return refuse(http.StatusUnauthorized, "the request has no bearer token")
	}
	tokens, err := f.Read()
	if err != nil {
		return fmt.Errorf("token file: %w", err)
	}
	// Compare hashes, in constant time and with every token, so that the latency of a 401 tells nothing about a token.
	given, found := sha256.Sum256([]byte(token)), 0
	for _, one := range tokens {
		known := sha256.Sum256([]byte(one))
		found |= subtle.ConstantTimeCompare(given[:], known[:])
	}
	if found == 0 {
		return refuse(http.StatusUnauthorized, "the token is not known")
	}
	return nil
}

// Read returns the tokens of the file, at least one. A single short token, which would be easy to guess, is an error
// for all.
func (f TokenFile) Read() ([]string, error) {
	file, err := os.Open(string(f))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxTokenFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxTokenFile {
		return nil, fmt.Errorf("%s: longer than %d octets", f, maxTokenFile)
	}
	tokens := strings.Fields(string(text))
	if len(tokens) == 0 {
		return nil, fmt.Errorf("%s has no token; write one a line", f)
	}
	for i, token := range tokens {
		if len(token) < minToken {
			return nil, fmt.Errorf("%s: token %d has %d characters; at least %d are needed", f, i+1, len(token), minToken)
		}
	}
	return tokens, nil
}
