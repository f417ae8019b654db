// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updatekey

import (
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

// K2: each format has the key's name, a secret where the client keeps secrets, and the algorithm in the client's
// spelling: a client's default is refused.
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
