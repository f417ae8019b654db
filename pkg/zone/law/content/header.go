// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
)

// Canonical returns h in canonical form: mail addresses become names, and addresses are sorted without duplicates.
// Values that cannot be parsed stay unchanged.
func (h Header) Canonical() Header {
	h.PrimaryNameServer = canonicalOrAsIs(h.PrimaryNameServer, canonicalHost)
	h.Contact = canonicalOrAsIs(h.Contact, canonicalContact)
	if len(h.NameServers) == 0 {
		h.NameServers = nil // nil and empty are the same definition
		return h
	}

	servers := make([]NameServer, 0, len(h.NameServers))
	for _, server := range h.NameServers {
		canonical := NameServer{Name: canonicalOrAsIs(server.Name, canonicalHost)}
		for _, address := range server.Addresses {
			if value, err := addressValue(address); err == nil {
				address = value.Text
			}
			canonical.Addresses = append(canonical.Addresses, address)
		}
		slices.Sort(canonical.Addresses)
		canonical.Addresses = slices.Compact(canonical.Addresses)
		servers = append(servers, canonical)
	}

	h.NameServers = servers
	return h
}

func canonicalOrAsIs(text string, canonical func(string) (string, error)) string {
	if text == "" {
		return ""
	}
	if value, err := canonical(text); err == nil {
		return value
	}
	return text
}

func (h Header) Equal(other Header) bool { return h.hashFields() == other.hashFields() }

// Hash returns status.hash: the SHA-256, in hex, of algorithm number, header and state.
func (h Header) Hash(state sethash.State) string {
	header := h.hashFields()
	whole := sethash.NewElement("kubi.zone/hash", strconv.Itoa(sethash.Algorithm), string(header[:]), string(state[:]))
	sum := sha256.Sum256(whole)
	return hex.EncodeToString(sum[:])
}

// hashFields returns the SHA-256 of the canonical header. Lists begin with their length, so different headers have
// different input.
func (h Header) hashFields() [sha256.Size]byte {
	h = h.Canonical()
	parts := []string{"kubi.zone/header", h.FQDN.String()}
	for _, seconds := range []uint32{h.TTL, h.Refresh, h.Retry, h.Expire, h.NegativeResponseCache} {
		parts = append(parts, strconv.FormatUint(uint64(seconds), 10))
	}
	parts = append(parts, h.PrimaryNameServer, h.Contact, strconv.Itoa(len(h.NameServers)))
	for _, server := range h.NameServers {
		parts = append(parts, server.Name, strconv.Itoa(len(server.Addresses)))
		parts = append(parts, server.Addresses...)
	}
	return sha256.Sum256(sethash.NewElement(parts...))
}

// NameServerRRsets returns the NS, A and AAAA RRsets made of spec.nameServers, in canonical order, with relative owners
// and inherited TTLs. Values that cannot be parsed, and addresses of hosts outside the zone, are left out.
func (h Header) NameServerRRsets() []RRset {
	var sets []RRset
	for _, server := range h.NameServers {
		text, err := canonicalHost(server.Name)
		if err != nil {
			continue
		}
		ns := rdata.Value{Type: rdata.NS, Text: text}
		if _, err := ns.Resolve(h.FQDN); err != nil {
			continue
		}

		// The NS record is at the apex, and the addresses at the host.
		sets = addValue(sets, name.Apex, ns)
		host, hasHost := ns.Target(h.FQDN)
		if !hasHost {
			continue
		}
		owner, inZone := host.Rel(h.FQDN)
		if !inZone {
			continue
		}

		for _, address := range server.Addresses {
			value, err := addressValue(address)
			if err == nil {
				sets = addValue(sets, owner, value)
			}
		}
	}

	slices.SortFunc(sets, RRset.Compare)
	return sets
}

func addValue(sets []RRset, owner name.Rel, value rdata.Value) []RRset {
	rrset := RRset{Owner: owner, Type: value.Type, TTL: InheritTTL(), Data: []string{value.Text}}
	i := slices.IndexFunc(sets, func(set RRset) bool { return set.Compare(rrset) == 0 })
	if i < 0 {
		return append(sets, rrset)
	}
	sets[i] = sets[i].Merge(rrset)
	return sets
}

func (h Header) MakesAt(fqdn name.Name) bool {
	owner, inside := fqdn.Rel(h.FQDN)
	return inside && slices.ContainsFunc(h.NameServerRRsets(), func(set RRset) bool { return set.Owner == owner })
}

func HostName(text string, origin name.Name) (string, error) {
	canonical, err := canonicalHost(text)
	if err != nil {
		return "", err
	}
	return rdata.Value{Type: rdata.NS, Text: canonical}.Resolve(origin)
}

// canonicalHost also accepts names that no Record could have, because a name server may be elsewhere.
func canonicalHost(text string) (string, error) {
	if name.IsAbsolute(text) {
		if absolute, err := name.Parse(text); err == nil {
			return absolute.String(), nil
		}
	} else if relative, err := name.ParseRel(text); err == nil {
		return relative.String(), nil
	}
	value, err := rdata.Parse(rdata.NS, text)
	if err != nil {
		return "", err
	}
	return value.Text, nil
}

// ContactName returns the absolute rname (RFC 1035 §3.3.13) of a contact: a mail address or a name.
func ContactName(text string, origin name.Name) (string, error) {
	canonical, err := canonicalContact(text)
	if err != nil {
		return "", err
	}
	return rdata.Value{Type: rdata.NS, Text: canonical}.Resolve(origin)
}

// canonicalContact returns a contact as a name: hostmaster@example.org becomes hostmaster.example.org. (RFC 1035 §8). A
// name stays relative or absolute.
func canonicalContact(text string) (string, error) {
	at := unescapedAt(text)
	// Without "@", or with "@" alone for the zone's own name, the contact is a name.
	if at < 0 || text == "@" {
		return canonicalHost(text)
	}
	local, domain := text[:at], text[at+1:]
	switch {
	case local == "":
		return "", fmt.Errorf("mail address %.100q has no local part: write hostmaster%.100s", text, text)
	case strings.ContainsAny(local, "\"\\"):
		return "", fmt.Errorf("mail address %.100q: quotes and backslashes cannot be in a contact: write the local part plain", text)
	}

	// A mail domain is absolute, whether written with a dot or not.
	if !strings.HasSuffix(domain, ".") {
		domain += "."
	}
	host, err := name.Parse(domain)
	if err != nil {
		return "", fmt.Errorf("mail address %.100q: %w", text, err)
	}
	if host == name.Root {
		return "", fmt.Errorf("mail address %.100q has no domain: write %.100s@example.org with a domain of yours", text, local)
	}

	value, err := rdata.Parse(rdata.NS, escapeLabel(local)+"."+host.String())
	if err != nil {
		return "", fmt.Errorf("mail address %.100q: %w", text, err)
	}
	return value.Text, nil
}

func unescapedAt(text string) int {
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] == '@' && (i == 0 || text[i-1] != '\\') {
			return i
		}
	}
	return -1
}

// escapeLabel returns a local part as a single label in presentation format: ops.dns becomes ops\.dns.
func escapeLabel(text string) string {
	var escaped strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case c <= ' ' || c >= 0x7f:
			fmt.Fprintf(&escaped, "\\%03d", c)
		case strings.IndexByte(`."();@$\`, c) >= 0:
			escaped.WriteByte('\\')
			escaped.WriteByte(c)
		default:
			escaped.WriteByte(c)
		}
	}
	return escaped.String()
}

// addressValue returns an address as value of an A or AAAA record. An address with a scope zone (fe80::1%eth0), and
// IPv4 mapped into IPv6, are errors.
func addressValue(text string) (rdata.Value, error) {
	address, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return rdata.Value{}, fmt.Errorf("address %.60q is neither IPv4 (192.0.2.1) nor IPv6 (2001:db8::1)", text)
	case address.Zone() != "":
		return rdata.Value{}, fmt.Errorf("address %.60q has a scope zone, which no DNS record can hold: write "+
			"%s", text, address.WithZone(""))
	case address.Is4In6():
		return rdata.Value{}, fmt.Errorf("address %.60q is IPv4 mapped into IPv6: write %s", text, address.Unmap())
	case address.Is4():
		return rdata.Parse(rdata.A, address.String())
	default:
		return rdata.Parse(rdata.AAAA, address.String())
	}
}
