// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"fmt"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/externaldns/contract"
)

// ListedTypes are those that the providers of the large clouds list. Others they may write, and do not list.
var ListedTypes = []rdata.Type{rdata.A, rdata.AAAA, rdata.CNAME, rdata.DNAME, rdata.MX, rdata.NS, rdata.SRV, rdata.TXT}

// standing is what a provider lists of one name and type.
type standing struct {
	// listed is all of it in one, to be given back when it is replaced or removed.
	listed contract.Endpoint
	// data is sorted, as the provider writes it; ttl is 0 where it says none.
	data []string
	ttl  uint32
	// foreign says why it is no RRset, empty where it is one.
	foreign string
}

// listing is what a provider has.
type listing map[contract.Key]standing

// makeListing makes it of endpoints. What is at no name or of no type of ours is left out.
func makeListing(endpoints []contract.Endpoint, plainText bool) listing {
	all := make(listing, len(endpoints))
	for _, e := range endpoints {
		key, err := e.Key()
		if err != nil {
			continue
		}
		s, there := all[key]
		if there {
			// Some list each value by itself.
			s.listed.Targets = slices.Concat(s.listed.Targets, e.Targets)
		} else {
			s.listed = e
		}
		switch data, fault := dataOf(&e, key.Type, plainText); {
		case e.SetIdentifier != "":
			s.foreign = fmt.Sprintf("it has the set identifier %q, which belongs to a routing policy", e.SetIdentifier)
		case fault != nil:
			s.foreign = fmt.Sprintf("its targets are no data of the type %s, such as those of an alias", key.Type)
		default:
			s.data = sorted(append(s.data, data...))
			s.ttl = uint32(min(max(e.RecordTTL, 0), 1<<31-1))
		}
		all[key] = s
	}
	return all
}

// dataOf is the meaning of what an endpoint points to.
func dataOf(e *contract.Endpoint, t rdata.Type, plainText bool) ([]string, error) {
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
func endpointOf(set protocol.RRset, plainText bool) (*contract.Endpoint, error) {
	e := &contract.Endpoint{DNSName: strings.TrimSuffix(set.Name.String(), "."), RecordType: set.Type.String(), RecordTTL: int64(set.TTL)}
	for _, data := range set.Data {
		if set.Type == rdata.TXT {
			// Route 53 reads \DDD as an octal number, others as a decimal one.
			text, err := protocol.JoinStrings(data)
			if err != nil || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
				return e, protocol.Refuse(protocol.CodeInvalidValue, "external-dns has no form for octets of a TXT other than printable "+
					"ASCII: its providers read \\DDD in different ways")
			}
			if plainText {
				data = text
			}
		}
		e.Targets = append(e.Targets, contract.FormatTarget(set.Type, data))
	}
	return e, nil
}
