// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/dns/name"
)

func TestQuoteText(t *testing.T) {
	for text, want := range map[string]string{
		"":                        `""`,
		"v=spf1 -all":             `"v=spf1 -all"`,
		`a "b" \ ;`:               `"a \"b\" \\ ;"`,
		"é\n":                     `"\195\169\010"`,
		strings.Repeat("k", 255):  `"` + strings.Repeat("k", 255) + `"`,
		strings.Repeat("k", 256):  `"` + strings.Repeat("k", 255) + `" "k"`,
		strings.Repeat("\\", 510): `"` + strings.Repeat(`\\`, 255) + `" "` + strings.Repeat(`\\`, 255) + `"`,
	} {
		got := QuoteText(text)
		if got != want {
			t.Errorf("%q: %s, expected %s", text, got, want)
		}
		// The value is in canonical spelling already.
		if stored, err := FromRR(TXT, got, name.Root); err != nil || stored != got {
			t.Errorf("%q is stored as %s: %v", text, stored, err)
		}
	}
}
