// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
)

// Limits of address lists (S11.4).
const (
	maxACLs       = 64
	maxACLEntries = 256
)

var (
	// builtinACLs are those that BIND has; it compares names of lists without regard to case.
	builtinACLs = []string{"any", "none", "localhost", "localnets"}
	// aclWords begin elements of an address_match_list that are no names.
	aclWords = []string{"key", "geoip"}
	aclName  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}$`)
)

// validateACLs judges the named lists of a configuration and returns their names in lower case. A list may name those
// before it, so that none contains itself, which BIND refuses.
func validateACLs(acls []bind9.ACL, path *field.Path) (names []string, errs field.ErrorList) {
	if n := len(acls); n > maxACLs {
		return nil, field.ErrorList{field.TooMany(path, n, maxACLs)}
	}
	for i := range acls {
		acl, at := &acls[i], path.Index(i)
		lower := strings.ToLower(acl.Name)
		switch {
		case !aclName.MatchString(acl.Name):
			errs = append(errs, field.Invalid(at.Child("name"), cut(acl.Name), "must be a letter and up to 62 letters, digits, "+
				"- or _ (S11.4)"))
		case slices.Contains(builtinACLs, lower), slices.Contains(aclWords, lower):
			errs = append(errs, field.Invalid(at.Child("name"), acl.Name, "is a word of BIND's: choose another name (S11.4)"))
		case slices.Contains(names, lower):
			errs = append(errs, field.Duplicate(at.Child("name"), acl.Name))
		}
		if len(acl.Entries) == 0 {
			errs = append(errs, field.Required(at.Child("entries"), "a list without entries matches no client; write none, "+
				"or remove the list"))
		}
		errs = append(errs, validateAddressList(acl.Entries, names, at.Child("entries"))...)
		names = append(names, lower)
	}
	return names, errs
}

// validateAddressList judges a list of clients or servers by BIND's grammar of an address_match_list, without keys and
// without lists within lists. names are the named lists that it may name, in lower case.
func validateAddressList(entries, names []string, path *field.Path) field.ErrorList {
	if n := len(entries); n > maxACLEntries {
		return field.ErrorList{field.TooMany(path, n, maxACLEntries)}
	}
	var errs field.ErrorList
	for i, entry := range entries {
		if wrong := checkListEntry(entry, names); wrong != "" {
			errs = append(errs, field.Invalid(path.Index(i), cut(entry), wrong+" (S11.4)"))
		}
	}
	return errs
}

// checkListEntry says what is wrong with one element of an address list.
func checkListEntry(entry string, names []string) string {
	const forms = "write any, none, localhost, localnets, an IP address, a prefix as 192.0.2.0/24 or 2001:db8::/32, " +
		"or the name of a list in spec.config.acls, with ! before what is excluded"
	text := strings.TrimPrefix(entry, "!")
	lower := strings.ToLower(text)
	switch {
	case slices.Contains(builtinACLs, lower), slices.Contains(names, lower):
		return ""
	case strings.HasPrefix(text, "!"):
		return "has two !: write one, or none"
	case slices.Contains(aclWords, strings.ToLower(strings.Fields(text + " .")[0])):
		return "is no address: keys and countries are not taken in address lists; " + forms
	case aclName.MatchString(text):
		return fmt.Sprintf("is the name of no list: add it to spec.config.acls, before the list that names it, or %s", forms)
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
