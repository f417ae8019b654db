// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"net/netip"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// continuation is a continue token: the listing goes on at Name, after Skip entries there.
type continuation struct {
	UID    string        `json:"u"`
	Serial serial.Serial `json:"s"`
	Name   name.Name     `json:"n"`
	Skip   int           `json:"k,omitempty"`
}

func (p continuation) token() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseContinuation(token string) (continuation, error) {
	var p continuation
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil || p.UID == "" || p.Name.IsZero() || p.Skip < 0 {
		return continuation{}, apierrors.NewBadRequest("query parameter continue: not a token of this server; start again without it")
	}
	return p, nil
}

// maxExamined bounds the entries that a search examines, each counted unicodeCost times if the search has characters
// beyond ASCII. maxSearch bounds the octets of its text.
const (
	maxExamined = 250_000
	unicodeCost = 10
	maxSearch   = 255
)

type search struct {
	part   name.Part // "" for every entry
	rrtype rdata.Type
	// begins is the beginning of an address, such as "10.1.15." or "2001:db8:", or "".
	begins string
	prefix netip.Prefix // if valid, the other fields are ignored
}

// parseSearch returns the search of a text that a person types: 192.0.2.0/24 and 192.0.2.1 find addresses, "txt" a
// type, "10.1." and "2001:db8:" beginnings of addresses. Any other text, and types too, find parts of owner names.
func parseSearch(text string) (*search, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	if len(text) > maxSearch {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("query parameter search: %d octets, more than %d; write a part of a name, a type, "+
			"an address or a prefix", len(text), maxSearch))
	}
	s := &search{part: name.ParsePart(text)}
	if prefix, err := netip.ParsePrefix(text); err == nil {
		s.prefix = prefix.Masked()
	} else if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		// A single address is a prefix of full length, so 2001:db8::1 finds each spelling.
		s.prefix = netip.PrefixFrom(address, address.BitLen())
	} else if rrtype, err := rdata.ParseType(text); err == nil {
		s.rrtype = rrtype
	} else if beginsAddress(text) {
		s.begins = text
	}
	return s, nil
}

// beginsAddress reports whether text, which is no whole address, may begin one: digits and dots, or hexadecimal digits
// and colons. A number alone begins too many addresses.
func beginsAddress(text string) bool {
	return strings.Contains(text, ".") && strings.Trim(text, "0123456789.") == "" ||
		strings.Contains(text, ":") && strings.Trim(text, "0123456789abcdef:") == ""
}

// matches reports whether an entry is found. ofOwner is true if the part is in the entry's owner name, computed once
// for all entries of a name.
func (s *search) matches(entry dns.Entry, ofOwner bool) bool {
	isAddress := entry.Type == rdata.A || entry.Type == rdata.AAAA
	if !s.prefix.IsValid() {
		return ofOwner || s.rrtype != 0 && entry.Type == s.rrtype || s.begins != "" && isAddress && strings.HasPrefix(entry.Data, s.begins)
	}
	if !isAddress {
		return false
	}
	address, err := netip.ParseAddr(entry.Data)
	return err == nil && s.prefix.Contains(address)
}

// page is the part of a zone that a request for zones/entries selects. A zero field does not limit the entries.
type page struct {
	snapshot Snapshot // the zone
	uid      string   // of the Zone
	limit    int64    // number of entries
	resumeAt continuation
	owner    name.Name
	rrtype   rdata.Type
	search   *search
	// nextToken is the continue token, set by eachEntry, or "" at the zone's end.
	nextToken string
}

// newPage returns the page that the query selects, or 400. from is the zero continuation for a first page.
func newPage(snapshot Snapshot, zone *v1alpha1.Zone, options *v1alpha1.ZoneEntriesOptions, from continuation) (*page, error) {
	p := &page{snapshot: snapshot, uid: string(zone.UID), limit: options.Limit, resumeAt: from}
	if p.limit < 0 {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("query parameter limit: %d is below 0", p.limit))
	}
	var err error
	if options.Name != "" {
		if p.owner, err = name.ParseIn(options.Name, snapshot.Header().FQDN); err != nil {
			return nil, apierrors.NewBadRequest("query parameter name: " + err.Error())
		}
	}
	if options.Search != "" {
		if p.search, err = parseSearch(options.Search); err != nil {
			return nil, err
		}
	}
	if options.Type != "" {
		if p.rrtype, err = rdata.ParseType(options.Type); err != nil {
			return nil, apierrors.NewBadRequest("query parameter type: " + err.Error())
		}
	}
	return p, nil
}

// eachEntry iterates over the page's entries, and sets nextToken. A search ends after maxExamined entries, perhaps with
// a short or empty page and a token.
func (p *page) eachEntry() iter.Seq[dns.Entry] {
	return func(yield func(dns.Entry) bool) {
		// Begin at the token's name, or at the only name that is asked for: www needs no walk from the apex.
		start := p.owner
		if !p.resumeAt.Name.IsZero() {
			start = p.resumeAt.Name
		}
		if start == p.snapshot.Header().FQDN {
			// The zero name is the SOA, the apex's first entry.
			start = name.Name{}
		}
		given, examined, cost := int64(0), 0, 1
		if p.search != nil && p.search.part.IsUnicode() {
			cost = unicodeCost
		}
		var at name.Name
		ofOwner := false
		index := 0
		for entry := range p.snapshot.EntriesFrom(start) {
			// A new name: Skip counts its entries from 0.
			if entry.Name != at {
				at, index = entry.Name, -1
				ofOwner = p.search != nil && p.search.part.In(at.String())
			}
			index++
			if !p.owner.IsZero() && at != p.owner {
				return
			}
			// The former page has sent these entries of the name.
			if at == p.resumeAt.Name && index < p.resumeAt.Skip {
				continue
			}
			examined += cost
			ends := p.search != nil && examined > maxExamined
			if !ends && (p.rrtype != 0 && entry.Type != p.rrtype || p.search != nil && !p.search.matches(entry, ofOwner)) {
				continue
			}
			// The next page begins with this entry. So a token never leads to an empty last page, except after a
			// search.
			if ends || p.limit > 0 && given == p.limit {
				p.nextToken = continuation{UID: p.uid, Serial: p.snapshot.Serial(), Name: at, Skip: index}.token()
				return
			}
			given++
			if !yield(entry) {
				return
			}
		}
	}
}
