// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package masterfile

import (
	"encoding/json"
	"slices"
	"testing"

	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/test/must"
)

// A parsed file is written with the same meaning.
func FuzzContent_roundTrip(f *testing.F) {
	f.Add([]byte(before))
	f.Add([]byte(before + "x\\.y TXT \"a\\\"b\\000\" ( \"c\"\n ) ; d\n$TTL 5\n* A 192.0.2.9\n$GENERATE 1-3 h$ A 192.0.2.$\n"))
	f.Add([]byte(before + "o TYPE65280 \\# 2 abcd\nsvc HTTPS 1 . alpn=h2\n@ CAA 0 issue \"ca.example; policy=ev\"\n"))
	f.Add([]byte(before + "$INCLUDE /etc/passwd\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := parseContent(example, text)
		if err != nil {
			return
		}
		written, err := c.marshal()
		if err != nil {
			return // not expressible in a portable file
		}
		again, err := parseContent(example, written)
		if err != nil {
			t.Fatalf("%s was written\n%s\nwhich is not read: %v", text, written, err)
		}
		if again.soa != c.soa || !slices.Equal(again.entries, c.entries) {
			t.Fatalf("%s became\n%s", text, written)
		}
	})
}

// FuzzContent_with (attack 26): an accepted record is added alone, and nothing else changes.
func FuzzContent_with(f *testing.F) {
	for _, record := range []string{
		`{"type":"TXT","domain":"example.org","subdomain":"a","values":["x\"\n$INCLUDE /etc/passwd\nb 1 IN A 192.0.2.66 ; \\"]}`,
		`{"type":"CNAME","domain":"example.org","subdomain":"a\\010b","values":["$GENERATE"]}`,
		`{"type":"A","domain":"example.org","subdomain":"$TTL","values":["192.0.2.66"]}`,
		`{"type":"NS","domain":"example.org","subdomain":"@","values":["a\\.b","\\(.example"]}`,
		`{"type":"SRV","domain":"example.org","subdomain":"_s._tcp","values":["@"],"metadata":{"priority":1,"weight":2,"port":3}}`,
	} {
		f.Add([]byte(record))
	}
	was := must.Get(parseContent(example, []byte(before)))(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		var record protocol.Record
		if json.Unmarshal(body, &record) != nil {
			return
		}
		set, err := protocol.Decode(record)
		if err != nil || set.Zone != example {
			return
		}
		c, _, err := was.withRRset(set)
		if err != nil {
			return
		}
		text, err := c.marshal()
		if err != nil {
			return
		}
		again, err := parseContent(example, text)
		if err != nil {
			t.Fatalf("%s: the file is not read: %v\n%s", body, err, text)
		}
		isOwn := func(entry dns.Entry) bool { return entry.Name == set.Name && entry.Type == set.Type }
		if got := again.findRRset(example, set.Name, set.Type); !slices.Equal(got.Data, set.Data) || got.TTL != set.TTL {
			t.Fatalf("%s became %+v", body, got)
		}
		if left, want := slices.DeleteFunc(slices.Clone(again.entries), isOwn), slices.DeleteFunc(slices.Clone(was.entries), isOwn); !slices.Equal(left, want) || again.soa != was.soa {
			t.Fatalf("%s changed others: %v", body, left)
		}
	})
}
