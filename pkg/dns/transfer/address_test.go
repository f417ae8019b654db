// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import "testing"

func TestAddresses_haveAPort(t *testing.T) {
	for text, want := range map[string]string{"192.0.2.1": "192.0.2.1:53", "192.0.2.1:5353": "192.0.2.1:5353",
		"[2001:db8::1]:5353": "[2001:db8::1]:5353", "2001:db8::1": "[2001:db8::1]:53", "[2001:db8::1]": "[2001:db8::1]:53"} {
		if got, err := ParseAddress(text); err != nil || got.String() != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
		if got := AddPort(text); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	for _, text := range []string{"", "ns.example.org", "192.0.2.1:0", "192.0.2.1:dns", "192.0.2.256"} {
		if got, err := ParseAddress(text); err == nil {
			t.Errorf("%q: %s", text, got)
		}
	}
	if got := AddPort("ns.example.org"); got != "ns.example.org:53" {
		t.Error(got)
	}
}
