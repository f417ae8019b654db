// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

// Admitted Zones have content. The validation package may not import content, so this test does.
func FuzzZone_acceptedHasContent(f *testing.F) {
	for _, seed := range [][4]string{
		{"ns1", "192.0.2.1", "ns1.example.org.", "hostmaster@example.org"}, {"@", "2001:db8::1", "@", "hostmaster"}, {"ns", "1.2.3.4", `n\.s`, `a\@b`},
		{"bücher", "::ffff:1.2.3.4", "。", "ü@example.org"}, {`a\032b.`, "fe80::1%0", "xn--", "@"}, {"*", "", "*.x", `"a b"@example.org`}, {".", "0.0.0.0", ".", "a@."},
		{"ns1", "192.0.2.1", "", `x\@y@example.org`}, {"ns_1", "192.0.2.1", "a/b", "first.last@example.org."}, {"ns1", "192.0.2.1", "ns1", "nobody@"}, {"ns1", "192.0.2.1", "ns1", "nobody@."},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, host, address, primary, contact string) {
		zone := newZone(nil)
		zone.Spec.NameServers = []v1alpha1.NameServer{{Name: host, Addresses: []string{address}}}
		zone.Spec.PrimaryNameServer, zone.Spec.Contact = primary, contact
		if len(Zone(zone)) > 0 {
			return
		}
		header := content.Header{
			FQDN: name.MustParse("example.org."), PrimaryNameServer: primary, Contact: contact,
			NameServers: []content.NameServer{{Name: host, Addresses: []string{address}}},
		}
		if sets := header.NameServerRRsets(); len(sets) != 2 {
			t.Errorf("accepted, and yet its name server has %v instead of NS and an address", sets)
		}
		if _, err := content.HostName(primary, header.FQDN); primary != "" && err != nil {
			t.Errorf("accepted, and yet: primaryNameServer: %v", err)
		}
		if _, err := content.ContactName(contact, header.FQDN); contact != "" && err != nil {
			t.Errorf("accepted, and yet: contact: %v", err)
		}
	})
}
