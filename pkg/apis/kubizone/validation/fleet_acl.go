// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxListEntries bounds an address list (S11.4).
const maxListEntries = 256

// addressWords are the lists that BIND has; it compares them without regard to case.
var addressWords = []string{"any", "none", "localhost", "localnets"}

// validateAddressList judges a list of clients or servers by BIND's grammar of an address_match_list, without keys,
// named lists and lists within lists.
func validateAddressList(entries []string, path *field.Path) field.ErrorList {
	return validateEach(entries, maxListEntries, path, func(entry string, at *field.Path) field.ErrorList {
		if wrong := checkListEntry(entry); wrong != "" {
			return field.ErrorList{field.Invalid(at, cut(entry), wrong+" (S11.4)")}
		}
		return nil
	})
}

// checkListEntry says what is wrong with one element of an address list.
func checkListEntry(entry string) string {
	const forms = "write any, none, localhost, localnets, an IP address, or a prefix as 192.0.2.0/24 or 2001:db8::/32, " +
		"with ! before what is excluded"
	text := strings.TrimPrefix(entry, "!")
	switch {
	case slices.Contains(addressWords, strings.ToLower(text)):
		return ""
	case strings.HasPrefix(text, "!"):
		return "has two !: write one, or none"
	}
	if address, err := netip.ParseAddr(text); err == nil {
		if address.Zone() != "" {
			return "has a scope zone, which has a meaning on one machine only: write an address without it"
		}
		return ""
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return "is no element of an address list: " + forms
	}
	if prefix != prefix.Masked() {
		return fmt.Sprintf("has bits set after its length, which BIND refuses: write %s, or the address alone", prefix.Masked())
	}
	return ""
}
