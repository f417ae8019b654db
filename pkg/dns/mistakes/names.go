// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package mistakes

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// OfValue returns the mistake in a value of a record at owner, both as written.
func OfValue(rrtype rdata.Type, owner, text string) string {
	host := rdata.Value{Type: rrtype, Text: text}.Host()
	if fault := repeatFault(host); fault != "" {
		return fault
	}
	// ns1.example.org.,ns2.example.org. in a single value is the name of no server.
	if strings.Contains(host, ".,") {
		return "reads as several names: write each as a value of its own"
	}
	if isLocalhost(host) && !isLocalName(owner) {
		return "names the machine that asks, whichever that is (RFC 6761 §6.3): name another host"
	}
	if faultOf := valueFaults[rrtype]; faultOf != nil {
		return faultOf(owner, text)
	}
	return ""
}

var valueFaults = map[rdata.Type]func(owner, text string) string{
	rdata.A: addressFault, rdata.AAAA: addressFault, rdata.CNAME: aliasFault, rdata.CAA: authorityFault, rdata.TXT: textFault,
	rdata.MX: exchangeFault, rdata.SRV: serviceFault, rdata.TLSA: associationFault, rdata.SMIMEA: associationFault,
	rdata.HTTPS: protocolFault,
}

// OfValues returns a mistake that several values of an RRset make together, such as two SPF policies, and the index of
// the faulty value. The text is "" if there is no mistake.
func OfValues(rrtype rdata.Type, owner string, texts []string) (faultyIndex int, fault string) {
	if rrtype == rdata.MX && len(texts) > 1 {
		meansNoMail := func(text string) bool { return (rdata.Value{Type: rrtype, Text: text}).Host() == "." }
		if index := slices.IndexFunc(texts, meansNoMail); index >= 0 {
			return index, "means no mail, and other MX are beside it (RFC 7505 §3): remove it, or the others"
		}
	}
	if rrtype != rdata.TXT {
		return 0, ""
	}

	if index := indexOfSecond(texts, rdata.IsSPF); index > 0 {
		return index, "is a second SPF policy, and receivers reject both (RFC 7208 §4.5): merge them into one"
	}
	// An SPF policy is for its own name, whichever that is, a DMARC policy only for names with _dmarc.
	if index := indexOfSecond(texts, rdata.IsDMARC); index > 0 && isDMARCOwner(owner) {
		return index, "is a second DMARC policy, and receivers ignore both (RFC 7489 §6.6.3): keep one"
	}
	return 0, ""
}

// indexOfSecond returns the index of the second text that is such a policy, or a negative number if there are not two.
func indexOfSecond(texts []string, is func(text string) bool) int {
	first := slices.IndexFunc(texts, is)
	second := slices.IndexFunc(texts[first+1:], is)
	if first < 0 || second < 0 {
		return -1
	}
	return first + 1 + second
}

// OfOwner returns the mistake in an owner as written, relative or absolute, for a record of type rrtype.
func OfOwner(rrtype rdata.Type, owner string) string {
	if fault := cmp.Or(repeatFault(owner), reverseFault(owner), orderFault(owner)); fault != "" {
		return fault
	}
	if faultOf := ownerFaults[rrtype]; faultOf != nil {
		return faultOf(owner)
	}
	return ""
}

// reverseFault judges an absolute owner. Relative, 2.0.0.127 is a name in a list of addresses (RFC 5782 §2.1).
func reverseFault(owner string) string {
	if !name.IsAbsolute(owner) {
		return ""
	}
	return OfAddressName(owner)
}

// orderFault finds _tcp._sip instead of _sip._tcp.
func orderFault(owner string) string {
	first, rest := cutOwner(owner)
	if !slices.Contains(protocols, first) || !strings.HasPrefix(rest, "_") {
		return ""
	}
	second, _, _ := strings.Cut(rest, ".")
	return fmt.Sprintf("has the protocol before the service, and clients ask for the other order: write %s.%s (RFC "+
		"2782)", second, first)
}

// cutOwner returns the first label behind any "*.", and the labels after, in lower case.
func cutOwner(owner string) (first, rest string) {
	first, rest, _ = strings.Cut(strings.ToLower(strings.TrimPrefix(owner, "*.")), ".")
	return first, rest
}

var ownerFaults = map[rdata.Type]func(owner string) string{
	rdata.SRV: serviceOwnerFault, rdata.TXT: challengeFault, rdata.CNAME: challengeFault,
	rdata.TLSA:       underscoreFault("_PORT._PROTOCOL before the host, as _443._tcp (RFC 6698 §3)"),
	rdata.SMIMEA:     underscoreFault("HASH._smimecert (RFC 8162 §3)"),
	rdata.OPENPGPKEY: underscoreFault("HASH._openpgpkey (RFC 7929 §3)"),
}

func serviceOwnerFault(owner string) string {
	if first, _ := cutOwner(owner); strings.HasPrefix(first, "_") {
		return ""
	}
	return "has no label of a service, which clients ask for: write _SERVICE._PROTOCOL before it, as _sip._tcp"
}

func challengeFault(owner string) string {
	if first, _ := cutOwner(owner); first != "acme-challenge" {
		return ""
	}
	return "has no underscore, and certification authorities ask for _acme-challenge: begin it with _"
}

// underscoreFault returns the check of a type for which clients ask at the names of the form. Names such as
// _dane.example.org, the targets of CNAMEs, are right (RFC 7671 §7).
func underscoreFault(form string) func(owner string) string {
	return func(owner string) string {
		if strings.HasPrefix(owner, "_") || strings.Contains(owner, "._") {
			return ""
		}
		return "has no label with an underscore, and clients ask for " + form
	}
}

func isLocalhost(host string) bool {
	host = strings.ToLower(host)
	return host == "localhost." || strings.HasSuffix(host, ".localhost.")
}

// isLocalName reports whether an owner says that it is the machine itself, as localhost.example.org (RFC 1537 §10), or
// *.local.example.org of developers.
func isLocalName(owner string) bool {
	return slices.ContainsFunc(strings.Split(strings.ToLower(owner), "."), func(label string) bool {
		return strings.Contains(label, "local") || strings.HasPrefix(label, "loopback")
	})
}

var protocols = []string{"_tcp", "_udp", "_sctp"}

// repeatFault returns the mistake of an absolute name that has its end twice, as mail.example.org.example.org.
func repeatFault(text string) string {
	whole := strings.ToLower(text)
	if !strings.HasSuffix(whole, ".") {
		return ""
	}
	labels := strings.Split(strings.TrimSuffix(whole, "."), ".")
	// A single label twice, as www.www.example.org., may be meant.
	for n := len(labels) / 2; n >= 2; n-- {
		kept := labels[:len(labels)-n]
		if slices.Equal(labels[len(labels)-n:], kept[len(kept)-n:]) {
			return fmt.Sprintf("names %s. twice: write %q", strings.Join(labels[len(labels)-n:], "."), strings.Join(kept, ".")+".")
		}
	}
	return ""
}

// addressFault finds 127.0.0.1 and ::1, too. Lists of addresses answer with others of 127.0.0.0/8, never with 127.0.0.1
// (RFC 5782 §5).
func addressFault(owner, text string) string {
	address, err := netip.ParseAddr(text)
	if err == nil && (address == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || address == netip.IPv6Loopback()) && !isLocalName(owner) {
		return "is the machine that asks, whichever that is: write the address of the host"
	}
	return OfAddress(text)
}

var reservedNetwork = netip.MustParsePrefix("240.0.0.0/4")

// OfAddress returns the mistake in an address that no client connects to. Text that is no address has none.
func OfAddress(text string) string {
	address, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return ""
	case address.Is4In6():
		return fmt.Sprintf("is an IPv4 address mapped into IPv6, to which no client connects: write type A with %s", address.Unmap())
	case address.IsUnspecified():
		return "is the unspecified address, at which no host answers: write the address of the host"
	case address.IsMulticast(), address == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "is an address of many hosts, to which no client connects: write the address of one"
	case reservedNetwork.Contains(address):
		return "is of a reserved network, to which no host connects (RFC 1112 §4): write the address of the host"
	case address.IsLinkLocalUnicast():
		return "is a link-local address, which no other network reaches: write another address of the host"
	}
	return ""
}

func aliasFault(owner, host string) string {
	switch {
	case hasPath(host):
		return "reads as a URL, and CNAME names a host: write the host alone"
	case strings.Contains(host, ":"):
		return "reads as a host with a port, and CNAME names a host: write the host alone; SRV and HTTPS have ports"
	case sameName(owner, host):
		return "names itself, which no resolver can follow: name another host"
	}
	return ""
}

func exchangeFault(_, text string) string {
	if fields := strings.Fields(text); len(fields) == 2 && fields[1] == "." && strings.Trim(fields[0], "0") != "" {
		return `means no mail only with the preference 0 (RFC 7505 §3): write "0 ."`
	}
	return ""
}

func serviceFault(_, text string) string {
	if fields := strings.Fields(text); len(fields) == 4 && strings.Trim(fields[2], "0") == "" && fields[3] != "." {
		return `has the port 0, at which no service listens: write the port, or the target "." for no service (RFC 2782)`
	}
	return ""
}

func hasPath(host string) bool {
	return slices.ContainsFunc(strings.Split(host, "."), func(label string) bool {
		first, size, slash := strings.Cut(label, "/")
		_, err1 := strconv.ParseUint(first, 10, 8)
		_, err2 := strconv.ParseUint(size, 10, 8)
		return slash && (err1 != nil || err2 != nil)
	})
}

func sameName(x, y string) bool {
	if name.IsAbsolute(x) != name.IsAbsolute(y) {
		return false
	}
	a, err1 := name.ParseIn(x, name.Root)
	b, err2 := name.ParseIn(y, name.Root)
	return err1 == nil && err2 == nil && a == b
}

// OfZone returns the mistake in the absolute name of a zone.
func OfZone(text string) string {
	if fault := repeatFault(text); fault != "" {
		return fault
	}
	zone, err := name.Parse(text)
	if err != nil || zone == name.Root {
		return ""
	}
	if below, isReverse := strings.CutSuffix(zone.String(), ".in-addr.arpa."); isReverse {
		return forwardFault(strings.Split(below, "."))
	}
	labels := zone.Labels()
	if labels[len(labels)-1] == "local" {
		return "ends in local, and hosts ask for such names by multicast, not at servers (RFC 6762 §3): take a name that you own, or a " +
			"name below home.arpa."
	}
	if network, isNetwork := findNetwork(text, labels); isNetwork {
		return fmt.Sprintf("reads as an address: write its reverse zone, %s", name.Reverse(network))
	}
	if len(labels) == 1 && (len(labels[0]) == 2 || slices.Contains(publicTops, labels[0])) {
		return "is a top-level domain: its name servers would deny every name below it that you do not write; write the full name of " +
			"your domain, as " + strconv.Quote("example."+zone.String())
	}
	return ""
}

// findNetwork reads a zone's name as an address or a prefix, or as its first octets: 192.0.2. instead of
// 2.0.192.in-addr.arpa.
func findNetwork(text string, labels []string) (network netip.Prefix, ok bool) {
	if network, ok = parseNetwork(text); ok {
		return network, true
	}
	octets, ok := parseOctets(labels)
	return netip.PrefixFrom(networkOf(octets), 8*len(octets)), ok
}

var publicTops = []string{"com", "net", "org", "edu", "gov", "mil", "int", "info", "biz", "app", "dev"}

// written contains networks whose reverse zones are often written in the order of an address.
var written = []netip.Prefix{netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24")}

// forwardFault returns the mistake of a zone below in-addr.arpa. with its octets in the order of an address, such as
// 192.168.in-addr.arpa. The labels are those below in-addr.arpa.
func forwardFault(labels []string) string {
	octets, ok := parseOctets(labels)
	if !ok {
		return ""
	}
	forward := networkOf(octets)
	slices.Reverse(octets)
	backward := networkOf(octets)
	slices.Reverse(octets)
	isWritten := func(a netip.Addr) bool {
		return slices.ContainsFunc(written, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	// 10.0.0.in-addr.arpa. would be of 0.0.10.0/24, and no network begins with 0.
	if isWritten(backward) || forward == backward || !isWritten(forward) && backward.As4()[0] != 0 {
		return ""
	}
	return fmt.Sprintf("has the octets in the order of an address, so it is the reverse zone of %s: write %s for %s", backward,
		name.Reverse(netip.PrefixFrom(forward, 8*len(octets))), forward)
}

func networkOf(octets []byte) netip.Addr {
	var all [4]byte
	copy(all[:], octets)
	return netip.AddrFrom4(all)
}

// OfAddressName returns the mistake in a domain name that is an address or a prefix.
func OfAddressName(text string) string {
	network, ok := parseNetwork(text)
	if !ok {
		return ""
	}
	return fmt.Sprintf("reads as an address, whose PTR Records belong at %s", name.Reverse(network))
}

// parseNetwork reads an address or a prefix, with or without a trailing dot. 192.0.2.0 is a network of three octets.
func parseNetwork(text string) (network netip.Prefix, ok bool) {
	text = strings.TrimSuffix(text, ".")
	if network, err := netip.ParsePrefix(text); err == nil {
		return network, true
	}
	address, err := netip.ParseAddr(text)
	bits := address.BitLen()
	if address.Is4() && address.As4()[3] == 0 {
		bits = 24
	}
	return netip.PrefixFrom(address, bits), err == nil
}

func parseOctets(labels []string) (octets []byte, ok bool) {
	for _, label := range labels {
		n, err := strconv.ParseUint(label, 10, 8)
		if err != nil {
			return nil, false
		}
		octets = append(octets, byte(n))
	}
	return octets, len(octets) <= 4
}

// OfContact returns the mistake in a zone's contact. The zone may be zero.
func OfContact(contact string, zone name.Name) string {
	if contact == "" || strings.Contains(contact, "@") || name.IsAbsolute(contact) {
		return ""
	}
	mailbox, host, _ := strings.Cut(contact, ".")
	// "ops" in example.org. means ops@example.org, as "ops.example.net" means ops@example.net.example.org.
	address := mailbox + "@" + strings.TrimPrefix(host+".", ".")
	if !zone.IsZero() {
		address += zone.String()
	}
	return fmt.Sprintf("has no @, so it is relative to the zone and means %s: write the address in full",
		strings.TrimSuffix(address, "."))
}
