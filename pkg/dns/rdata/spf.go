// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import "strings"

// IsSPF reports whether the text of a TXT, quoted or not, is a policy of SPF, of which a name may have one (RFC 7208
// §4.5).
func IsSPF(text string) bool {
	text = text[:min(len(text), 16)] // its first word and quotes
	policy, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(text), `"`, ""), " ")
	return policy == "v=spf1"
}
