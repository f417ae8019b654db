// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updatekey

import (
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

// `updatekey show` prints a configuration for each kind of update client. Each contains the key's name, the secret or
// the place where the client keeps it, and the algorithm as the client spells it. The algorithm must not be left out,
// because a client's default may be another one, and would be refused (K2).
func TestFormats_nameTheAlgorithm(t *testing.T) {
	all := listFormats()
	if len(all) < 10 {
		t.Fatalf("only %q", all)
	}
	for _, format := range all {
		text := string(must.Get(formats.ReadFile("formats/" + format + ".txt"))(t))
		for _, transfers := range []bool{true, false} {
			var out strings.Builder
			must.Succeed(t, writeFormat(&out, text, shown{Host: "192.0.2.1", Port: "5353", Zone: "example.org", Key: "acme.team-a.",
				Algorithm: "hmac-sha256", Secret: "c2VjcmV0", SecretName: "acme-tsig", Transfers: transfers}))
			message := out.String()
			if strings.Contains(message, "{{") {
				t.Errorf("%s has a name without a value:\n%s", format, message)
			}
			words := strings.ToLower(strings.ReplaceAll(message, "-", ""))
			if !strings.Contains(message, "acme.team-a") || !strings.Contains(words, "hmacsha256") ||
				!strings.Contains(message, "192.0.2.1") {
				t.Errorf("%s:\n%s", format, message)
			}
			if !strings.Contains(message, "c2VjcmV0") && !strings.Contains(message, "acme-tsig") {
				t.Errorf("%s has no secret:\n%s", format, message)
			}
			if format == "external-dns" && strings.Contains(message, "transfer: Own") == transfers {
				t.Errorf("%s, transfers %v:\n%s", format, transfers, message)
			}
		}
	}
}
