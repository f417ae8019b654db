// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

const DefaultTTL = 300

// RRset has absolute names, and Data as from rdata.Value.Resolve; no Data means no RRset.
type RRset struct {
	Zone, Name name.Name
	Type       rdata.Type
	TTL        uint32
	Data       []string
}

type Record struct {
	Type string `json:"type"`
	// Domain is the zone without the trailing dot, Subdomain the rest of the owner, or "@".
	Domain    string `json:"domain"`
	Subdomain string `json:"subdomain"`
	FQDN      string `json:"fqdn,omitempty"`
	// Values are addresses, hosts without a trailing dot (NS, CNAME, PTR, DNAME, MX, SRV), texts without quotes (TXT),
	// and for other types the format of zone files, with full names.
	Values []string `json:"values,omitempty"`
	// TTL is in seconds; absent means DefaultTTL.
	TTL      *int64       `json:"ttl,omitempty"`
	Metadata MetadataList `json:"metadata,omitempty"`
	Format   string       `json:"format,omitempty"`
}

// Presentation is the Format, without metadata, for RRsets without an exact plain form: texts that are not UTF-8, or
// whose strings before the last are shorter than 255 octets.
const Presentation = "presentation"

// Metadata has Priority for an MX or SRV value, and for SRV Weight and Port.
type Metadata struct {
	Priority *uint16 `json:"priority,omitempty"`
	Weight   *uint16 `json:"weight,omitempty"`
	Port     *uint16 `json:"port,omitempty"`
}

// MetadataList has a Metadata for all values (in JSON an object), or for each value (an array).
type MetadataList []Metadata

func (l MetadataList) MarshalJSON() ([]byte, error) {
	if len(l) == 1 {
		return json.Marshal(l[0])
	}
	return json.Marshal([]Metadata(l))
}

func (l *MetadataList) UnmarshalJSON(text []byte) error {
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return json.Unmarshal(text, (*[]Metadata)(l))
	}
	*l = make(MetadataList, 1)
	return json.Unmarshal(text, &(*l)[0])
}

// ByValue reports whether a server needs FeatureValueMetadata for the record.
func (r Record) ByValue() bool { return len(r.Metadata) > 1 }

var ErrNoForm = errors.New("the webhook protocol has no form for it")

func noForm(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrNoForm)
}

func split(zone, owner name.Name) (domain, subdomain string, err error) {
	if zone == name.Root {
		return "", "", noForm("the root zone")
	}
	relative, ok := owner.Rel(zone)
	if !ok {
		return "", "", fmt.Errorf("%s is not in %s", owner, zone)
	}
	return strings.TrimSuffix(zone.String(), "."), relative.String(), nil
}

// Encode returns the Record of an RRset. If the RRset has no Data, the Record only identifies it, for a Delete. Errors
// name the value and wrap ErrNoForm, unless the owner is outside the zone.
func Encode(set RRset) (Record, error) {
	domain, subdomain, err := split(set.Zone, set.Name)
	if err != nil {
		return Record{}, err
	}

	record := Record{Type: set.Type.String(), Domain: domain, Subdomain: subdomain}
	if len(set.Data) == 0 {
		return record, nil
	}
	ttl := int64(set.TTL)
	record.TTL = &ttl

	for _, data := range set.Data {
		value, metadata, err := encodeValue(set.Type, data)
		if err != nil {
			return Record{}, err
		}
		record.Values = append(record.Values, value)
		if metadata != nil {
			record.Metadata = append(record.Metadata, *metadata)
		}
	}

	// Equal metadata is sent once.
	if alike(record.Metadata) {
		record.Metadata = record.Metadata[:min(1, len(record.Metadata))]
	}
	return record, nil
}

// Exact reports whether Decode restores the RRset from the result of Encode. Only TXT strings may be split differently.
func Exact(set RRset) bool {
	if set.Type != rdata.TXT {
		return true
	}
	for _, data := range set.Data {
		if text, err := JoinStrings(data); err != nil || rdata.QuoteText(text) != data {
			return false
		}
	}
	return true
}

func EncodePresentation(set RRset) (Record, error) {
	domain, subdomain, err := split(set.Zone, set.Name)
	if err != nil {
		return Record{}, err
	}
	ttl := int64(set.TTL)
	return Record{Type: set.Type.String(), Domain: domain, Subdomain: subdomain, Values: set.Data, TTL: &ttl, Format: Presentation}, nil
}

// encodeValue returns a value as the protocol writes it, and its numbers for MX and SRV, otherwise nil. data is in
// presentation format with absolute names.
func encodeValue(t rdata.Type, data string) (string, *Metadata, error) {
	numbers := 0
	switch t {
	case rdata.TXT:
		text, err := JoinStrings(data)
		return text, nil, err
	case rdata.NS, rdata.CNAME, rdata.PTR, rdata.DNAME:
	case rdata.MX:
		numbers = 1
	case rdata.SRV:
		numbers = 3
	default:
		return data, nil, nil
	}

	fields := strings.Fields(data)
	if len(fields) != numbers+1 {
		return "", nil, noForm("value %q", data)
	}
	host := fields[numbers]
	// The root as a target means "no service" (RFC 2782, RFC 7505), and keeps its dot.
	if host != "." {
		host = strings.TrimSuffix(host, ".")
	}

	if numbers == 0 {
		return host, nil, nil
	}

	var values [3]*uint16
	for i, field := range fields[:numbers] {
		number, err := strconv.ParseUint(field, 10, 16)
		if err != nil {
			return "", nil, noForm("value %q", data)
		}
		value := uint16(number)
		values[i] = &value
	}
	return host, &Metadata{Priority: values[0], Weight: values[1], Port: values[2]}, nil
}

func alike(list []Metadata) bool {
	same := func(one, other *uint16) bool { return one == other || one != nil && other != nil && *one == *other }
	for _, m := range list {
		if !same(m.Priority, list[0].Priority) || !same(m.Weight, list[0].Weight) || !same(m.Port, list[0].Port) {
			return false
		}
	}
	return true
}

var (
	// quotedStrings matches the strings of a TXT value. \DDD is one octet in decimal (RFC 1035 §5.1).
	quotedStrings = regexp.MustCompile(`(?s)^(?:"(?:\\(?:[01][0-9]{2}|2[0-4][0-9]|25[0-5]|[^0-9])|[^"\\])*" *)*$`)
	// textPart matches an escape, or the end of a string with the begin of the next.
	textPart = regexp.MustCompile(`(?s)\\[0-9]{3}|\\.|" *(?:"|$)`)
)

// JoinStrings joins the quoted strings of a TXT value, as readers of TXT do (RFC 7208 §3.3), the inverse of
// rdata.QuoteText. The error wraps ErrNoForm if the text is not UTF-8.
func JoinStrings(data string) (string, error) {
	if !quotedStrings.MatchString(data) {
		return "", noForm("value %q", data)
	}
	text := textPart.ReplaceAllStringFunc(strings.TrimPrefix(data, `"`), func(found string) string {
		escaped, isEscape := strings.CutPrefix(found, `\`)
		octet, err := strconv.ParseUint(escaped, 10, 8)
		switch {
		case !isEscape:
			return ""
		case err == nil:
			return string([]byte{byte(octet)})
		}
		return escaped
	})
	if !utf8.ValidString(text) {
		return "", noForm("value %s, which is no UTF-8", data)
	}
	return text, nil
}

// parseKey parses type, domain and subdomain of a request into zone, owner and type. Errors are *Error.
func parseKey(typeText, domain, subdomain string) (zone, owner name.Name, t rdata.Type, err error) {
	if t, err = rdata.ParseType(typeText); err == nil {
		err = t.CheckRecord()
	}
	if err != nil {
		return zone, owner, t, Refuse(CodeInvalidRecord, "type: %v", err)
	}
	if domain == "" || name.IsAbsolute(domain) {
		return zone, owner, t, Refuse(CodeInvalidDomain, "domain: must be a name without a trailing dot")
	}
	if zone, err = name.Parse(domain + "."); err != nil {
		return zone, owner, t, Refuse(CodeInvalidDomain, "domain: %v", err)
	}
	relative, err := name.ParseRel(subdomain)
	if err == nil {
		owner, err = relative.In(zone)
	}
	if err != nil {
		return zone, owner, t, Refuse(CodeInvalidDomain, "subdomain: %v", err)
	}
	return zone, owner, t, nil
}

func (r Record) Key() (RRset, error) {
	zone, owner, t, err := parseKey(r.Type, r.Domain, r.Subdomain)
	return RRset{Zone: zone, Name: owner, Type: t}, err
}

// Decode returns a record's RRset: sorted Data without duplicates. Errors are *Error.
func Decode(record Record) (RRset, error) {
	set, err := record.Key()
	if err != nil {
		return RRset{}, err
	}

	ttl := int64(DefaultTTL)
	if record.TTL != nil {
		ttl = *record.TTL
	}
	if ttl < 0 || ttl > rdata.MaxTTL {
		return RRset{}, Refuse(CodeInvalidRecord, "ttl %d: must be 0 to %d", ttl, rdata.MaxTTL)
	}
	set.TTL = uint32(ttl)
	if len(record.Values) == 0 {
		return RRset{}, Refuse(CodeInvalidRecord, "values: give at least one")
	}

	if err := checkForm(record, set.Type); err != nil {
		return RRset{}, err
	}

	// One metadata counts for all values.
	for i, value := range record.Values {
		var metadata Metadata
		if n := len(record.Metadata); n > 0 {
			metadata = record.Metadata[min(i, n-1)]
		}
		decode := decodeValue
		if record.Format == Presentation {
			decode = decodePresentation
		}
		data, err := decode(set.Type, value, metadata, set.Zone)
		if err != nil {
			return RRset{}, err
		}
		set.Data = append(set.Data, data)
	}

	slices.Sort(set.Data)
	set.Data = slices.Compact(set.Data)
	if len(set.Data) > 1 && (set.Type == rdata.CNAME || set.Type == rdata.DNAME) {
		return RRset{}, Refuse(CodeInvalidRecord, "values: %s has exactly one", set.Type)
	}
	return set, nil
}

// numbersOf names the metadata of each type that has some.
var numbersOf = map[rdata.Type]string{rdata.MX: "priority", rdata.SRV: "priority, weight and port"}

// checkForm checks the format of a record, and that it has as many metadata as its type and its values need. Errors are
// *Error.
func checkForm(record Record, t rdata.Type) error {
	numbers := numbersOf[t]
	switch record.Format {
	case "":
	// "10 mx.example.org.": the numbers are in the values.
	case Presentation:
		numbers = ""
	default:
		return Refuse(CodeInvalidRecord, "format: must be absent or %q", Presentation)
	}

	n := len(record.Metadata)
	if numbers == "" {
		if n > 0 {
			return Refuse(CodeInvalidRecord, "metadata: is for MX and SRV, in a record without a format")
		}
		return nil
	}
	switch n {
	case 0:
		return Refuse(CodeInvalidRecord, "metadata: %s needs %s", t, numbers)
	case 1, len(record.Values):
		return nil
	}
	return Refuse(CodeInvalidRecord, "metadata: %d for %d values; give one, or one for each", n, len(record.Values))
}

// decodeValue returns a value of the protocol in presentation format, with absolute names. Errors are *Error.
func decodeValue(t rdata.Type, value string, metadata Metadata, zone name.Name) (string, error) {
	text := value
	switch t {
	case rdata.TXT:
		data, err := rdata.FromRR(t, rdata.QuoteText(value), zone)
		if err != nil {
			return "", Refuse(CodeInvalidValue, "value: %v", err)
		}
		return data, nil
	case rdata.NS, rdata.CNAME, rdata.PTR, rdata.DNAME, rdata.MX, rdata.SRV:
		host, err := absolute(value)
		if err != nil {
			return "", err
		}
		text = host
	default:
		text = rdata.Absolute(t, value)
	}
	switch {
	case t == rdata.MX && metadata.Priority != nil:
		text = fmt.Sprintf("%d %s", *metadata.Priority, text)
	case t == rdata.SRV && metadata.Priority != nil && metadata.Weight != nil && metadata.Port != nil:
		text = fmt.Sprintf("%d %d %d %s", *metadata.Priority, *metadata.Weight, *metadata.Port, text)
	case t == rdata.MX, t == rdata.SRV:
		return "", Refuse(CodeInvalidRecord, "metadata: MX needs priority, SRV priority, weight and port")
	}
	parsed, err := rdata.Parse(t, text)
	if err != nil {
		return "", Refuse(CodeInvalidValue, "value: %v", err)
	}
	data, err := parsed.Resolve(zone)
	if err != nil {
		return "", Refuse(CodeInvalidValue, "value: %v", err)
	}
	return data, nil
}

// decodePresentation parses a value in presentation format. Names in it are absolute, so no zone is added.
func decodePresentation(t rdata.Type, value string, _ Metadata, zone name.Name) (string, error) {
	if t == rdata.TXT && !strings.HasPrefix(value, `"`) {
		return "", Refuse(CodeInvalidValue, "value: a text in presentation format is in quotes")
	}
	parsed, err := rdata.Parse(t, value)
	if err != nil {
		return "", Refuse(CodeInvalidValue, "value: %v", err)
	}
	data, err := parsed.Resolve(name.Root)
	if err != nil {
		return "", Refuse(CodeInvalidValue, "value: %v", err)
	}
	return data, nil
}

func absolute(host string) (string, error) {
	if host == "." {
		return host, nil
	}
	body := strings.TrimSuffix(host, ".")
	// A dot after an odd number of backslashes belongs to the last label: "a\." is a name without a trailing dot.
	escaped := (len(body)-len(strings.TrimRight(body, `\`)))%2 == 1
	if host == "" || (body != host) != escaped {
		return "", Refuse(CodeInvalidValue, "value: must be a name without a trailing dot")
	}
	return host + ".", nil
}
