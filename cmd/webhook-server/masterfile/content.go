// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package masterfile

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kubi.zone/kubizone/cmd/webhook-server/server"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/zonefile"
)

type content struct {
	soa     dns.Entry
	entries []dns.Entry
}

func parseContent(zone name.Name, text []byte) (content, error) {
	var c content
	for rr, err := range zonefile.Read(bytes.NewReader(text), zonefile.ReadOptions{Origin: zone}) {
		if err != nil {
			return c, fmt.Errorf("the file is not rewritten while it has lines that cannot be read: %w", err)
		}
		entry := dns.Entry{Name: rr.Name, Type: rr.Type, TTL: rr.TTL, Data: rr.Data}
		switch {
		case entry.Type == rdata.SOA && entry.Name == zone && c.soa.Data == "":
			c.soa = entry
		case entry.Type == rdata.SOA:
			return c, fmt.Errorf("line %d: an SOA of another zone, or a second one", rr.Line)
		case !zone.Encloses(entry.Name):
			return c, fmt.Errorf("line %d: %s is not in the zone", rr.Line, entry.Name)
		case entry.Type.CheckRecord() != nil:
			// Signatures would become invalid, and unknown data would be lost.
			return c, fmt.Errorf("line %d: the file is not rewritten: %w", rr.Line, entry.Type.CheckRecord())
		default:
			c.entries = append(c.entries, entry)
		}
	}
	if c.soa.Data == "" {
		return c, fmt.Errorf("the file has no SOA of %s", zone)
	}
	return c, nil
}

func (c content) marshal() ([]byte, error) {
	var text bytes.Buffer
	_, err := zonefile.Write(&text, func(yield func(dns.Entry) bool) {
		if yield(c.soa) {
			slices.Values(c.entries)(yield)
		}
	})
	return text.Bytes(), err
}

func (c content) withNextSerial() (content, error) {
	fields := strings.Fields(c.soa.Data)
	if len(fields) != 7 {
		return c, fmt.Errorf("SOA %q: has no seven fields", c.soa.Data)
	}
	number, err := strconv.ParseUint(fields[2], 10, 32)
	if err != nil {
		return c, fmt.Errorf("SOA %q: %w", c.soa.Data, err)
	}
	fields[2] = serial.Serial(number).Next().String()
	c.soa.Data = strings.Join(fields, " ")
	return c, nil
}

func (c content) findRRset(zone, owner name.Name, t rdata.Type) protocol.RRset {
	set := protocol.RRset{Zone: zone, Name: owner, Type: t}
	for _, entry := range c.entries {
		if entry.Name == owner && entry.Type == t {
			set.TTL = entry.TTL
			set.Data = append(set.Data, entry.Data)
		}
	}
	slices.Sort(set.Data)
	return set
}

// withRRset returns the content with an RRset replaced, or removed if the set has no data. differs is false if the
// content has the RRset already.
func (c content) withRRset(set protocol.RRset) (_ content, differs bool, err error) {
	before, isRemoval := c.findRRset(set.Zone, set.Name, set.Type), len(set.Data) == 0
	if slices.Equal(before.Data, set.Data) && (before.TTL == set.TTL || isRemoval) {
		return c, false, nil
	}
	check := c.checkAddition
	if isRemoval {
		check = c.checkRemoval
	}
	if err := check(set); err != nil {
		return c, false, err
	}
	c.entries = slices.DeleteFunc(slices.Clone(c.entries), func(entry dns.Entry) bool {
		return entry.Name == set.Name && entry.Type == set.Type
	})
	for _, data := range set.Data {
		c.entries = append(c.entries, dns.Entry{Name: set.Name, Type: set.Type, TTL: set.TTL, Data: data})
	}
	return c, true, nil
}

// checkRemoval refuses to remove data without which no server loads the zone.
func (c content) checkRemoval(set protocol.RRset) error {
	if set.Type == rdata.NS && set.Name == set.Zone {
		return protocol.Refuse(protocol.CodeInvalidRecord, "the name servers of a zone can be replaced, not removed")
	}
	if c.hasLastAddress(set) {
		return protocol.Refuse(protocol.CodeInvalidRecord, "%s is a name server of the zone, "+
			"which does not load without an address of it; name another one first", set.Name)
	}
	return nil
}

// checkAddition refuses a CNAME beside other data, and other data beside a CNAME.
func (c content) checkAddition(set protocol.RRset) error {
	for _, entry := range c.entries {
		if entry.Name == set.Name && entry.Type != set.Type && (entry.Type == rdata.CNAME || set.Type == rdata.CNAME) {
			return server.CoexistError("%s has %s records already, and a CNAME stands alone (RFC 1034 §3.6.2)", set.Name,
				entry.Type)
		}
	}
	if set.Name == set.Zone && set.Type == rdata.CNAME {
		return protocol.Refuse(protocol.CodeInvalidRecord, "%s is the zone itself, which has an SOA, "+
			"and a CNAME stands alone (RFC 1034 §3.6.2)", set.Name)
	}
	return nil
}

// hasLastAddress reports whether the set has the addresses of a name server that has none of the other family.
func (c content) hasLastAddress(set protocol.RRset) bool {
	other, isAddress := map[rdata.Type]rdata.Type{rdata.A: rdata.AAAA, rdata.AAAA: rdata.A}[set.Type]
	servers := c.findRRset(set.Zone, set.Zone, rdata.NS)
	return isAddress && slices.Contains(servers.Data, set.Name.String()) && len(c.findRRset(set.Zone, set.Name, other).Data) == 0
}
