// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"testing"
)

// WrittenNames holds the names of all files of a load, to suppress Warnings about hosts still to come. It finds a host
// in any spelling: absolute, or relative to a zone that is not in the files (S5.14).
func TestWrittenNames(t *testing.T) {
	var names WrittenNames
	if names.Have("www") {
		t.Error("no names have one")
	}
	for _, text := range []string{"@", "www", "Mail.example.org.", "*.apps", "*.dev.example.org."} {
		names.Add(text)
	}
	for host, want := range map[string]bool{
		"www": true, "WWW.example.net.": true, "mail": true, "mail.example.org.": true, "mail.example": true, "a.b.apps": true,
		"a.apps.example.org.": true, "a.dev": true, "x.dev.example.org.": true,
		"mail.example.net.": false, "ww": false, "ftp": false, "ftp.example.org.": false, "apps": false, ".": false,
	} {
		if names.Have(host) != want {
			t.Errorf("%s: %t", host, !want)
		}
	}
}
