// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"fmt"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/zoneview"
)

// packDifference makes the answer to an IXFR: one sequence from the serial that the peer has to the zone's, however
// many steps lie between (RFC 1995 §4, §5). Records have one rdata each: the new SOA, the old one and what went, the
// new one and what came, the new one. ok is false where the whole zone is the answer: the difference is as long as
// the zone, or cannot be packed.
func packDifference(zone *zoneview.Snapshot, d zoneview.Difference) (records []content.Packed, ok bool) {
	if len(d.Removed)+len(d.Added)+2 >= zone.EntryCount() {
		return nil, false
	}
	records = make([]content.Packed, 0, len(d.Removed)+len(d.Added)+4)
	for _, part := range [][]dns.Entry{{d.After}, {d.Before}, d.Removed, {d.After}, d.Added, {d.After}} {
		for _, entry := range part {
			record, err := packEntry(zone.FQDN(), entry)
			if err != nil {
				return nil, false // the whole zone says what is wrong with it
			}
			records = append(records, record)
		}
	}
	return records, true
}

func packEntry(zone name.Name, entry dns.Entry) (content.Packed, error) {
	owner, ok := entry.Name.Rel(zone)
	if !ok {
		return content.Packed{}, fmt.Errorf("%s is not in %s", entry.Name, zone)
	}
	wire, err := rdata.Value{Type: entry.Type, Text: entry.Data}.Pack(name.Name{})
	if err != nil {
		return content.Packed{}, fmt.Errorf("%s %s: %w", entry.Name, entry.Type, err)
	}
	return content.Packed{Owner: owner, Type: entry.Type, TTL: entry.TTL, Rdata: [][]byte{wire}}, nil
}
