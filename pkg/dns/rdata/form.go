// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"fmt"
	"strings"
)

// form has the names of the fields of a type, as in its RFC, in order, and an example value.
type form struct {
	names   []string
	example string
}

// formOf has the form of each type with more than one field that people write, by its mnemonic. There is one name for
// each field of the plan.
var formOf = map[string]form{
	"AFSDB":      {[]string{"subtype", "hostname"}, "1 afsdb.example.org."},
	"AMTRELAY":   {[]string{"precedence", "discovery and type", "relay"}, "10 0 1 192.0.2.1"},
	"CAA":        {[]string{"flags", "tag", "value"}, `0 issue "ca.example.net"`},
	"CDNSKEY":    {[]string{"flags", "protocol", "algorithm", "public key"}, "257 3 13 dGhpcyBpcyBhIGtleQ=="},
	"CDS":        {[]string{"key tag", "algorithm", "digest type", "digest"}, "12345 13 2 <64 hexadecimal digits>"},
	"CERT":       {[]string{"type", "key tag", "algorithm", "certificate"}, "1 0 0 dGhpcyBpcyBhIGtleQ=="},
	"CSYNC":      {[]string{"serial", "flags", "types"}, "66 3 A NS AAAA"},
	"DNSKEY":     {[]string{"flags", "protocol", "algorithm", "public key"}, "257 3 13 dGhpcyBpcyBhIGtleQ=="},
	"DS":         {[]string{"key tag", "algorithm", "digest type", "digest"}, "12345 13 2 <64 hexadecimal digits>"},
	"GPOS":       {[]string{"longitude", "latitude", "altitude"}, "-32.68 116.86 10.0"},
	"HINFO":      {[]string{"cpu", "os"}, `"amd64" "linux"`},
	"HTTPS":      {[]string{"priority", "target", "params"}, `1 . alpn="h2,h3"`},
	"IPSECKEY":   {[]string{"precedence", "gateway type", "algorithm", "gateway", "public key"}, "10 1 2 192.0.2.1 dGhpcyBpcyBhIGtleQ=="},
	"ISDN":       {[]string{"address", "subaddress"}, `"150862028003217" "004"`},
	"KX":         {[]string{"preference", "exchanger"}, "10 kx.example.org."},
	"L32":        {[]string{"preference", "locator"}, "10 192.0.2.1"},
	"L64":        {[]string{"preference", "locator"}, "10 2001:0db8:1140:1000"},
	"LP":         {[]string{"preference", "fqdn"}, "10 l64.example.org."},
	"MINFO":      {[]string{"responsible mailbox", "error mailbox"}, "admin.example.org. errors.example.org."},
	"MX":         {[]string{"preference", "exchange"}, "10 mail.example.org."},
	"NAPTR":      {[]string{"order", "preference", "flags", "services", "regexp", "replacement"}, `100 10 "s" "SIP+D2U" "" _sip._udp.example.org.`},
	"NID":        {[]string{"preference", "node id"}, "10 0014:4fff:ff20:ee64"},
	"PX":         {[]string{"preference", "map822", "mapx400"}, "10 mail.example.org. px400.example.org."},
	"RP":         {[]string{"mailbox", "text name"}, "admin.example.org. people.example.org."},
	"RT":         {[]string{"preference", "host"}, "10 relay.example.org."},
	"SMIMEA":     {[]string{"usage", "selector", "matching type", "certificate"}, "3 1 1 <64 hexadecimal digits>"},
	"SRV":        {[]string{"priority", "weight", "port", "target"}, "10 5 5060 sip.example.org."},
	"SSHFP":      {[]string{"algorithm", "fingerprint type", "fingerprint"}, "4 2 <64 hexadecimal digits>"},
	"SVCB":       {[]string{"priority", "target", "params"}, `1 svc.example.org. port=8443 alpn="h2"`},
	"TALINK":     {[]string{"previous name", "next name"}, "a.example.org. c.example.org."},
	"TLSA":       {[]string{"usage", "selector", "matching type", "certificate"}, "3 1 1 <64 hexadecimal digits>"},
	"URI":        {[]string{"priority", "weight", "target"}, `10 1 "https://www.example.org/"`},
	"ZONEMD":     {[]string{"serial", "scheme", "hash", "digest"}, "2026010200 1 1 <96 hexadecimal digits>"},
	"NSEC3PARAM": {[]string{"hash", "flags", "iterations", "salt"}, "1 0 0 -"},
}

// fieldName is the name of the i-th field of a type with a colon, "" if the type has no form.
func (p *plan) fieldName(i int) string {
	if names := formOf[p.of.String()].names; i < len(names) {
		return names[i] + ": "
	}
	return ""
}

// usage describes the fields of the type, with an example, for a message.
func (p *plan) usage() string {
	form, words := formOf[p.of.String()], p.words()
	for i, name := range form.names {
		words[i] = fmt.Sprintf("%s (%s)", name, words[i])
	}
	usage := p.of.String() + " has " + strings.Join(words, ", ")
	if form.example != "" {
		usage += ", for example: " + form.example
	}
	return usage
}
