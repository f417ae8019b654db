// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// continuation is a continue token: zone, serial, owner, and the number of the owner's entries listed.
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

type page struct {
	snapshot Snapshot
	uid      string
	limit    int64
	from     continuation
	owner    name.Name
	rrtype   rdata.Type
	// next is set at the end of eachEntry; "" at the zone's end.
	next string
}

func newPage(snapshot Snapshot, zone *v1alpha1.Zone, options *v1alpha1.ZoneEntriesOptions, from continuation) (*page, error) {
	p := &page{snapshot: snapshot, uid: string(zone.UID), limit: options.Limit, from: from}
	if p.limit < 0 {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("query parameter limit: %d is below 0", p.limit))
	}
	var err error
	if options.Name != "" {
		if p.owner, err = name.ParseIn(options.Name, snapshot.Header().FQDN); err != nil {
			return nil, apierrors.NewBadRequest("query parameter name: " + err.Error())
		}
	}
	if options.Type != "" {
		if p.rrtype, err = rdata.ParseType(options.Type); err != nil {
			return nil, apierrors.NewBadRequest("query parameter type: " + err.Error())
		}
	}
	return p, nil
}

func (p *page) eachEntry() iter.Seq[dns.Entry] {
	return func(yield func(dns.Entry) bool) {
		start := p.owner
		if !p.from.Name.IsZero() {
			start = p.from.Name
		}
		if start == p.snapshot.Header().FQDN {
			// The zero name means the SOA, the first entry of the apex.
			start = name.Name{}
		}
		given := int64(0)
		var at name.Name
		index := 0 // within its owner
		for entry := range p.snapshot.EntriesFrom(start) {
			if entry.Name != at {
				at, index = entry.Name, -1
			}
			index++
			if !p.owner.IsZero() && at != p.owner {
				return
			}
			if at == p.from.Name && index < p.from.Skip {
				continue
			}
			if p.rrtype != 0 && entry.Type != p.rrtype {
				continue
			}
			if p.limit > 0 && given == p.limit {
				p.next = continuation{UID: p.uid, Serial: p.snapshot.Serial(), Name: at, Skip: index}.token()
				return
			}
			given++
			if !yield(entry) {
				return
			}
		}
	}
}
