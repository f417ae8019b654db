// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"slices"
	"testing"
)

// The commands that a person copies ask what the form asks: with its view, and with its data.
func TestMayPage_listsTheCommandsOfItsQuestion(t *testing.T) {
	for _, test := range []struct {
		page mayPage
		want []string
	}{
		{mayPage{Namespace: "team", Name: "www.example.org", Type: "A"},
			[]string{"kubectl kubizone may create www.example.org A -n team"}},
		{mayPage{Namespace: "team", Name: "www.example.org.", Type: "TXT", View: "internal", Data: "it's"}, []string{
			"kubectl kubizone may create www.example.org. TXT -n team --view internal",
			`printf %s '{"kind":"Record","apiVersion":"kubi.zone/v1alpha1","metadata":{"generateName":"may-"},"spec":` +
				`{"domainName":"www.example.org.","view":"internal","type":"TXT","rdata":"it'\''s"},"status":{}}' | ` +
				"kubectl create --dry-run=server -n team -f -"}},
	} {
		if got := test.page.listCommands(); !slices.Equal(got, test.want) {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
