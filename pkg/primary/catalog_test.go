// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"strings"
	"testing"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
)

// The members of a class with catalogGroup have the property group, from the first catalog on and after changes
// (S17.5).
func TestCatalog_group_S17_5(t *testing.T) {
	zones := serveZones(makeSnapshot(t, "u", "", "example.org.", 7), makeSnapshot(t, "v", "", "other.example.", 8))
	p := startPrimary(t, Config{Zones: zones})
	first := Member{"u", name.MustParse("example.org.")}
	second := Member{"v", name.MustParse("other.example.")}
	config := ClassConfig{Name: "c", Allow: Rules(local, nil), Catalog: name.MustParse("catalog.example."), CatalogGroup: `say "a\b"`}
	class := must.Get(p.AddClass(config,
		Membership{Serial: 1, Members: []Member{first}}))(t)
	for i, members := range [][]Member{{first}, {first, second}, {second}} {
		if i > 0 {
			class.SetMembers(Membership{Serial: serialOf(uint32(i + 1)), Members: members})
		}
		must.Eventually(t, "the catalog has the members and their groups", func() bool {
			zones, groups := 0, 0
			conn := dialTCP(t, p)
			answer, err := askOn(conn, makeQuery("catalog.example.", mdns.TypeAXFR))
			if err != nil {
				t.Fatal(err)
			}
			for _, rr := range answer.Answer {
				switch rr := rr.(type) {
				case *mdns.PTR:
					zones++
				case *mdns.TXT:
					if strings.HasPrefix(rr.Hdr.Name, "group.") && rr.Txt[0] == `say \"a\\b\"` {
						groups++
					}
				}
			}
			return zones == len(members) && groups == len(members)
		})
	}
}
