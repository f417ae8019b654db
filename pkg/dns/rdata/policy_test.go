// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"strings"
	"testing"
)

// RFC 7208 §4.5: the version is the first word of the joined strings, in any case.
func TestIsSPF(t *testing.T) {
	long := " " + strings.Repeat("a", 4000)
	for text, want := range map[string]bool{
		"v=spf1": true, "v=spf1 -all": true, `"V=SPF1 mx -all"`: true, `"v=spf1" " mx -all"`: true, `"v=spf1` + long + `"`: true,
		"v=spf10": false, "v=spf1x -all": false, `"x v=spf1"`: false, "": false, long: false,
	} {
		if IsSPF(text) != want {
			t.Errorf("%.30s: %v", text, !want)
		}
	}
}
