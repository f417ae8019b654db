// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/zonefile"
)

// makeContent returns the zone file of a new primary zone: SOA, name servers, and the records of the request. The error
// is a 400 with the field.
func makeContent(zone name.Name, config protocol.ZoneConfig) ([]byte, error) {
	if config.SOA == nil || config.TTL == nil {
		return nil, refuse(http.StatusBadRequest, "zoneConfig: a primary zone needs ttl and soa")
	}
	soa, err := makeSOA(zone, *config.SOA)
	if err != nil {
		return nil, err
	}
	entries := []dns.Entry{soa}

	// Records may have the apex NS instead of nameServers, so count both.
	served := 0
	add := func(field, owner string, t rdata.Type, ttl uint32, value string) error {
		entry, err := readRecord(field, zone, owner, t, ttl, value)
		if err == nil && t == rdata.NS && entry.Name == zone {
			served++
		}
		entries = append(entries, entry)
		return err
	}

	for i, server := range config.NameServers {
		if err := add(fmt.Sprintf("zoneConfig.nameServers[%d]", i), "@", rdata.NS, *config.TTL, server); err != nil {
			return nil, err
		}
	}

	for i, record := range config.Records {
		field := fmt.Sprintf("zoneConfig.records[%d]", i)
		t, err := readType(field+".type", record.Type)
		if err != nil {
			return nil, err
		}
		// A record without a TTL has the zone's.
		if err := add(field, record.Name, t, *cmp.Or(record.TTL, config.TTL), record.Value); err != nil {
			return nil, err
		}
	}

	if served == 0 {
		return nil, refuse(http.StatusBadRequest, "zoneConfig.nameServers: a zone needs at least one name server; "+
			"named does not load it otherwise")
	}

	var file bytes.Buffer
	_, err = zonefile.Write(&file, slices.Values(entries))
	return file.Bytes(), err
}

// makeSOA builds the SOA from the fields of the request, none of which has a default. The TTL of the SOA itself is
// negativeTtl, at most a day.
func makeSOA(zone name.Name, soa protocol.SOA) (dns.Entry, error) {
	// The fields are joined to one text below: "ns hostmaster 1" as primaryNs would move the serial.
	if len(strings.Fields(soa.PrimaryNS)) != 1 || len(strings.Fields(soa.AdminEmail)) != 1 {
		return dns.Entry{}, refuse(http.StatusBadRequest, "zoneConfig.soa: primaryNs and adminEmail must be one name each")
	}
	value := soa.PrimaryNS + " " + soa.AdminEmail
	for _, number := range []*uint32{soa.Serial, soa.Refresh, soa.Retry, soa.Expire, soa.NegativeTTL} {
		if number == nil {
			return dns.Entry{}, refuse(http.StatusBadRequest, "zoneConfig.soa: serial, refresh, retry, expire and negativeTtl are required")
		}
		value += " " + strconv.FormatUint(uint64(*number), 10)
	}
	data, err := rdata.FromRR(rdata.SOA, value, zone)
	if err != nil {
		return dns.Entry{}, refuse(http.StatusBadRequest, "zoneConfig.soa: %v", err)
	}
	return dns.Entry{Name: zone, Type: rdata.SOA, TTL: min(*soa.NegativeTTL, 86400), Data: data}, nil
}

func readType(field, text string) (rdata.Type, error) {
	t, err := rdata.ParseType(text)
	if err == nil {
		err = t.CheckRecord()
	}
	if err != nil {
		return 0, refuse(http.StatusBadRequest, "%s: %v", field, err)
	}
	return t, nil
}

// readRecord parses a record of a request. Relative names are completed with the zone: www, or www.example.org. with
// the dot. field names the record in errors.
func readRecord(field string, zone name.Name, owner string, t rdata.Type, ttl uint32, value string) (dns.Entry, error) {
	entry := dns.Entry{Type: t, TTL: ttl}
	var err error
	if entry.Name, err = name.ParseIn(owner, zone); err != nil {
		return entry, refuse(http.StatusBadRequest, "%s.name: %v", field, err)
	}
	// www.example.net. in a request for example.org. would be left out by named with no more than a log line.
	if !zone.Encloses(entry.Name) {
		return entry, refuse(http.StatusBadRequest, "%s.name %q: is not in zone %s; a name without a dot at its end is relative to "+
			"the zone", field, owner, showName(zone))
	}
	if ttl > rdata.MaxTTL {
		return entry, refuse(http.StatusBadRequest, "%s.ttl %d: must be at most %d", field, ttl, rdata.MaxTTL)
	}
	if entry.Data, err = rdata.FromRR(t, value, zone); err != nil {
		return entry, refuse(http.StatusBadRequest, "%s.value: %v", field, err)
	}
	return entry, nil
}
