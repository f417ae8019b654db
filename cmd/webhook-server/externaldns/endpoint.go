// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// endpoint is an RRset as the providers of external-dns have it. What they add comes back to them as it was.
type endpoint struct {
	DNSName          string            `json:"dnsName,omitempty"`
	Targets          []string          `json:"targets,omitempty"`
	RecordType       string            `json:"recordType,omitempty"`
	SetIdentifier    string            `json:"setIdentifier,omitempty"`
	RecordTTL        int64             `json:"recordTTL,omitempty"`
	Labels           map[string]string `json:"labels,omitempty"`
	ProviderSpecific []property        `json:"providerSpecific,omitempty"`
}

type property struct {
	Name  string `json:"name,omitempty"`
	Value string `json:"value,omitempty"`
}

// changes is the body of POST /records. An update is the pair of the same index.
type changes struct {
	Create    []endpoint `json:"create,omitempty"`
	UpdateOld []endpoint `json:"updateOld,omitempty"`
	UpdateNew []endpoint `json:"updateNew,omitempty"`
	Delete    []endpoint `json:"delete,omitempty"`
}

// types are those that external-dns knows at all.
var types = []rdata.Type{rdata.A, rdata.AAAA, rdata.CNAME, rdata.DNAME, rdata.MX, rdata.NAPTR, rdata.NS, rdata.PTR, rdata.SRV, rdata.TXT}

// ListedTypes are those that the providers of the large clouds list. Others they may write, and do not list.
var ListedTypes = []rdata.Type{rdata.A, rdata.AAAA, rdata.CNAME, rdata.DNAME, rdata.MX, rdata.NS, rdata.SRV, rdata.TXT}

// rrsetKey names an RRset of all zones of the provider.
type rrsetKey struct {
	owner name.Name
	t     rdata.Type
}

// standing is what a provider lists of one name and type.
type standing struct {
	// listed is all of it in one, to be given back when it is replaced or removed.
	listed endpoint
	// data is sorted, as the provider writes it; ttl is 0 where it says none.
	data []string
	ttl  uint32
	// foreign says why it is no RRset, empty where it is one.
	foreign string
}

// listing is what a provider has.
type listing map[rrsetKey]standing

// parseListing reads the answer to GET /records. What is at no name or of no type of ours is left out.
func parseListing(body []byte, plainText bool) (listing, error) {
	var endpoints []endpoint
	if err := json.Unmarshal(body, &endpoints); err != nil {
		return nil, fmt.Errorf("the answer to GET /records is no list of endpoints: %w", err)
	}
	all := make(listing, len(endpoints))
	for _, e := range endpoints {
		owner, err := name.Parse(strings.TrimSuffix(e.DNSName, ".") + ".")
		if err != nil {
			continue
		}
		t, err := rdata.ParseType(e.RecordType)
		if err != nil {
			continue
		}
		key := rrsetKey{owner, t}
		s, there := all[key]
		if there {
			// Some list each value by itself.
			s.listed.Targets = slices.Concat(s.listed.Targets, e.Targets)
		} else {
			s.listed = e
		}
		switch data, fault := dataOf(e, t, plainText); {
		case e.SetIdentifier != "":
			s.foreign = fmt.Sprintf("it has the set identifier %q, which belongs to a routing policy", e.SetIdentifier)
		case fault != nil:
			s.foreign = fmt.Sprintf("its targets are no data of the type %s, such as those of an alias", t)
		default:
			s.data = sorted(append(s.data, data...))
			s.ttl = uint32(min(max(e.RecordTTL, 0), 1<<31-1))
		}
		all[key] = s
	}
	return all, nil
}

// dataOf is the meaning of what an endpoint points to.
func dataOf(e endpoint, t rdata.Type, plainText bool) ([]string, error) {
	if len(e.Targets) == 0 {
		return nil, fmt.Errorf("%s %s has no targets", e.DNSName, t)
	}
	var all []string
	for _, target := range e.Targets {
		if t == rdata.TXT && (plainText || !strings.HasPrefix(target, `"`)) {
			target = protocol.QuoteText(target)
		}
		value, err := rdata.FromRR(t, target, name.Root)
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return all, nil
}

func sorted(data []string) []string { return slices.Compact(slices.Sorted(slices.Values(data))) }

// endpointOf writes an RRset as external-dns does.
func endpointOf(set protocol.RRset, plainText bool) (endpoint, error) {
	e := endpoint{DNSName: strings.TrimSuffix(set.Name.String(), "."), RecordType: set.Type.String(), RecordTTL: int64(set.TTL)}
	for _, data := range set.Data {
		switch set.Type {
		case rdata.TXT:
			// Route 53 reads \DDD as an octal number, others as a decimal one.
			text, err := protocol.JoinStrings(data)
			if err != nil || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
				return e, protocol.Refuse(protocol.CodeInvalidValue, "external-dns has no form for octets of a TXT other than printable "+
					"ASCII: its providers read \\DDD in different ways")
			}
			if plainText {
				data = text
			}
		case rdata.CNAME, rdata.DNAME, rdata.NS, rdata.PTR, rdata.MX:
			if !strings.HasSuffix(" "+data, " .") {
				data = strings.TrimSuffix(data, ".")
			}
		}
		e.Targets = append(e.Targets, data)
	}
	return e, nil
}
