// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"strconv"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Entry is a resource record of class IN as published in a zone, for example "www.example.org. 300 IN A 192.0.2.1".
// Entries that differ only in TTL are the same record.
type Entry struct {
	Name name.Name
	Type rdata.Type
	// TTL is in seconds, at most 2^31-1 (RFC 2181 §8).
	TTL uint32
	// Data is in presentation format with absolute names: "10 mail.example.org." for an MX.
	Data string
}

// String returns a line of a master file (RFC 1035 §5.1), tab separated, without newline.
func (e Entry) String() string {
	return string(e.AppendText(make([]byte, 0, len(e.Name.String())+len(e.Data)+24)))
}

func (e Entry) AppendText(line []byte) []byte { return e.AppendLine(line, e.Type.String(), e.Data) }

func (e Entry) AppendLine(line []byte, rtype, data string) []byte {
	line = append(line, e.Name.String()...)
	line = append(line, '\t')
	line = strconv.AppendUint(line, uint64(e.TTL), 10)
	line = append(line, "\tIN\t"...)
	line = append(line, rtype...)
	line = append(line, '\t')
	return append(line, data...)
}

// Change is the difference between two serials, without the SOA.
type Change struct {
	From, To       serial.Serial
	Removed, Added []Entry
}

// UnconfirmedTTL is the TTL of a zone's PTR in a fleet's catalog zone until all servers have loaded the zone once.
// Agents do not delay readiness for such a zone. Consumers of catalogs ignore TTLs (RFC 9432 §4).
const UnconfirmedTTL = 1
