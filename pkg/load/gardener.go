// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"net/netip"
	"strings"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
)

const (
	gardenerGroup  = "dns.gardener.cloud"
	gardenerIgnore = gardenerGroup + "/ignore"
	// maxTextString is what one character string of a TXT record has (RFC 1035 §3.3).
	maxTextString = 255
)

// convertGardener converts DNSEntries of external-dns-management. The Zones that take the Records are not in them.
func convertGardener(c *conversion, all []*manifest) []*manifest {
	var converted []*manifest
	having := make(map[string]*manifest)
	// entries are the names of the objects, for the second Record of an entry.
	entries := make(map[string]bool)
	for _, m := range all {
		entries[m.describe()] = true
	}
	for _, m := range all {
		switch kind := m.object.GetKind(); kind {
		case "DNSEntry":
		case "DNSAnnotation":
			c.omit(m, "spec.annotations: the DNSEntries that it caused are imported; here no controller reads annotations of other objects",
				"write Records for what is to come")
			continue
		default:
			c.omit(m, fmt.Sprintf("%s has no zone data", kind), "make a Zone, and a DNSClass for its provider: docs/delivery.md")
			continue
		}
		converted = append(converted, convertEntry(c, m, having, entries)...)
	}
	return converted
}

// convertEntry makes one Record for each type that a DNSEntry has. The first has the name of the entry.
func convertEntry(c *conversion, m *manifest, having map[string]*manifest, entries map[string]bool) []*manifest {
	if ignored := m.object.GetAnnotations()[gardenerIgnore]; ignored != "" && ignored != "false" {
		c.refuse(m, fmt.Sprintf("metadata.annotations: %s is %q, so its present data is not known", gardenerIgnore, ignored),
			"remove the annotation, or write the Record")
		return nil
	}
	s := newSpecReader(m.object)
	dnsName := s.readText("dnsName")
	s.require("dnsName", dnsName != "")
	var owner name.Name
	if dnsName != "" {
		var err error
		if owner, err = name.Parse(absoluteHost(dnsName)); err != nil {
			s.fault("spec.dnsName: %v", err)
		}
	}
	ttl := s.readSeconds("ttl")
	if ttl == nil { // the one that the provider has by default
		status, _ := m.object.Object["status"].(map[string]any)
		ttl = (&specReader{path: "status", fields: status, asked: make(map[string]bool), faults: s.faults}).readSeconds("ttl")
	}
	for _, unknown := range []struct{ field, why string }{
		{"routingPolicy", "answers by weight, place or health are not served"},
		{"reference", "the data is that of another DNSEntry; write targets or text of that one here"},
	} {
		if found, at := s.findField(unknown.field); found != nil {
			s.fault("%s: %s", at, unknown.why)
		}
	}
	// The owner is a mark in the provider. Without a lookup, its interval says nothing.
	s.findField("ownerId")
	s.findField("cnameLookupInterval")
	targets, texts := s.readTexts("targets"), s.readTexts("text")
	data := make(map[string][]string)
	hosts := 0
	for _, target := range targets {
		address, err := netip.ParseAddr(target)
		switch {
		case err != nil:
			hosts++
			data["CNAME"] = append(data["CNAME"], absoluteHost(target))
		case address.Unmap().Is4():
			data["A"] = append(data["A"], address.Unmap().String())
		default:
			data["AAAA"] = append(data["AAAA"], address.String())
		}
	}
	for _, text := range texts {
		data["TXT"] = append(data["TXT"], textValue(text))
	}
	switch resolve := s.readFlag("resolveTargetsToAddresses"); {
	case len(targets) == 0 && len(texts) == 0:
		s.fault("spec.targets: neither targets nor text is set")
	case len(targets) > 0 && len(texts) > 0:
		s.fault("spec.text: targets is set, too; keep one of them")
	case hosts > 0 && (resolve || hosts > 1 || hosts < len(targets)):
		s.fault("spec.targets: host names that a controller looks up and replaces by addresses; write the addresses, " +
			"or one host name for a CNAME")
	}
	s.refuseUnknown()
	if len(*s.faults) > 0 {
		c.refuse(m, strings.Join(*s.faults, "; "), fixFaults)
		return nil
	}
	if older := having[owner.String()]; older != nil {
		c.refuse(m, fmt.Sprintf("spec.dnsName: %s, which is older, has the name %s", older.describe(), owner), "delete one of the two")
		return nil
	}
	second := m.object.GetName() + "-aaaa"
	if len(data["A"]) > 0 && len(data["AAAA"]) > 0 && entries["dnsentry "+m.object.GetNamespace()+"/"+second] {
		c.refuse(m, fmt.Sprintf("metadata.name: its Record of type AAAA would have the name of DNSEntry %s", second),
			"rename one of the two")
		return nil
	}
	having[owner.String()] = m
	var records []*manifest
	for _, rrType := range []string{"A", "AAAA", "CNAME", "TXT"} {
		if len(data[rrType]) == 0 {
			continue
		}
		spec := v1alpha1.RecordSpec{DomainName: owner.String(), Type: rrType, TTL: ttl}
		setData(&spec, data[rrType])
		object := m.object.GetName()
		if len(records) > 0 {
			object = second
		}
		if record := c.makeReplacement(m, object, &spec, "Record"); record != nil {
			records = append(records, record)
		}
	}
	return records
}

// textValue is one value of a TXT RRset. The providers quote a text that is not quoted, and divide a long one.
func textValue(text string) string {
	if len(text) > 1 && strings.HasPrefix(text, `"`) && strings.HasSuffix(text, `"`) {
		return text
	}
	quoted := []string{}
	for len(text) > maxTextString {
		quoted = append(quoted, quoteText(text[:maxTextString]))
		text = text[maxTextString:]
	}
	return strings.Join(append(quoted, quoteText(text)), " ")
}
