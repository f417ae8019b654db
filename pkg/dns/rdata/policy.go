// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"regexp"
	"strings"
)

// IsSPF reports whether a TXT's text, quoted or not, is an SPF policy. A name may have only one (RFC 7208 §4.5).
func IsSPF(text string) bool {
	policy, _, _ := strings.Cut(beginning(text), " ")
	return policy == "v=spf1"
}

// IsDMARC reports whether a TXT's text, quoted or not, is a DMARC policy (RFC 7489 §6.3).
func IsDMARC(text string) bool {
	version, _, _ := strings.Cut(strings.ReplaceAll(beginning(text), `\`, ""), ";")
	return strings.ReplaceAll(version, " ", "") == "v=dmarc1"
}

func beginning(text string) string {
	return strings.ReplaceAll(strings.ToLower(text[:min(len(text), 16)]), `"`, "")
}

var betweenStrings = regexp.MustCompile(`"\s*"`)

// Unquote joins the strings of a TXT's text, without quotes and the escape of ";".
func Unquote(text string) string {
	return strings.NewReplacer(`"`, "", `\;`, ";").Replace(betweenStrings.ReplaceAllLiteralString(text, ""))
}
