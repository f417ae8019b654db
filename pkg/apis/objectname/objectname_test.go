// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package objectname

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

func TestRecordObjectNames_readWell(t *testing.T) {
	for _, c := range []struct {
		owner string
		typ   rdata.Type
		zone  string
		want  string
	}{
		{"@", rdata.NS, "root", "apex-ns.root"},
		{"aaa", rdata.NS, "root", "aaa-ns.root"},
		{"ns1.dns.nic.aaa", rdata.AAAA, "root", "ns1.dns.nic.aaa-aaaa.root"},
		{"xn--p1ai", rdata.DS, "root", "xn--p1ai-ds.root"},
		{"www", rdata.A, "example.org", "www-a.example.org"},
		{"www", rdata.Type(65280), "example.org", "www-type65280.example.org"},
	} {
		if got := OfRecord(name.MustRel(c.owner), c.typ, c.zone)[0]; got != c.want {
			t.Errorf("%s %s in %s: %s, want %s", c.owner, c.typ, c.zone, got, c.want)
		}
	}
	for owner, prefix := range map[string]string{
		"*": "wildcard--", "_dmarc": "dmarc--", "0/25": "0-25--", "_443._tcp.www": "443.tcp.www--", "*._": "wildcard--", "apex": "apex--", "_": "record--",
	} {
		got := OfRecord(name.MustRel(owner), rdata.TXT, "z")[0]
		if !strings.HasPrefix(got, prefix) || !strings.HasSuffix(got, "-txt.z") {
			t.Errorf("%s: %s, want %s…-txt.z", owner, got, prefix)
		}
	}
}

func TestZoneObjectNames_distinguishRootAndViews(t *testing.T) {
	if got := OfZone(name.Root, "root"); got[0] != "root" {
		t.Errorf("the root zone is %s", got[0])
	}
	if got := OfZone(name.MustParse("root."), ""); !strings.HasPrefix(got[0], "root--") {
		t.Errorf("the zone root. is %s", got[0])
	}
	fqdn := name.MustParse("example.org.")
	inside, outside := OfZone(fqdn, "inside"), OfZone(fqdn, "")
	if inside[0] != "example.org" || inside[1] == outside[1] {
		t.Errorf("two views: %v and %v", inside, outside)
	}
}

// Object names are valid for the API, and differ for any two RRsets of any zones.
func TestRecordObjectNames_areValidAndUnique(t *testing.T) {
	label := rapid.SampledFrom([]string{
		"a", "b", "ns", "x-a", "sub-ns", "a-b", "apex", "wildcard", "_dmarc", "dmarc", "_", "0/25", "0-25", "xn--p1ai", "www", "mx-txt",
		"dmarc--0123456789", strings.Repeat("l", 63), strings.Repeat("m", 60) + "-a",
	})
	types := rapid.SampledFrom([]rdata.Type{rdata.A, rdata.NS, rdata.TXT, rdata.Type(23), rdata.Type(65280)}) // 23 is NSAP-PTR
	rapid.Check(t, func(t *rapid.T) {
		type id struct {
			owner name.Rel
			typ   rdata.Type
			zone  string
		}
		seen := make(map[string]id)
		for range 60 {
			origin, err := name.Parse(strings.Join(rapid.SliceOfN(label, 0, 3).Draw(t, "zone"), ".") + ".")
			if err != nil {
				continue
			}
			zone := OfZone(origin, "")[0]
			text := strings.Join(rapid.SliceOfN(label, 1, 3).Draw(t, "owner"), ".")
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				text = "@"
			case 1:
				text = "*." + text
			}
			owner, err := name.ParseRel(text)
			if err != nil {
				continue
			}
			if _, err := owner.In(origin); err != nil {
				continue
			}
			this := id{owner, types.Draw(t, "type"), zone}
			names := OfRecord(this.owner, this.typ, this.zone)
			for _, got := range append(names[:], OfUpdate(this.owner, this.typ, this.zone)) {
				if wrong := validation.IsDNS1123Subdomain(got); len(wrong) > 0 {
					t.Fatalf("%v: %q: %v", this, got, wrong)
				}
				if other, ok := seen[got]; ok && other != this {
					t.Fatalf("%v and %v are both %q", this, other, got)
				}
				seen[got] = this
			}
			if wrong := validation.IsDNS1123Subdomain(zone); len(wrong) > 0 {
				t.Fatalf("zone %s: %q: %v", origin, zone, wrong)
			}
		}
	})
}
