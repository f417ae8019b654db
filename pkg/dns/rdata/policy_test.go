// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"strings"
	"testing"
)

// A text is an SPF policy if its first word is `v=spf1`, in any case, after the strings of the value are joined (RFC
// 7208 §4.5).
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
