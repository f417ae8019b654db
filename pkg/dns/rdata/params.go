// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

type paramKey uint16

// Keys whose values have a format. All other values are octets.
const (
	paramMandatory     paramKey = 0
	paramALPN          paramKey = 1
	paramNoDefaultALPN paramKey = 2
	paramPort          paramKey = 3
	paramIPv4Hint      paramKey = 4
	paramECH           paramKey = 5
	paramIPv6Hint      paramKey = 6
	paramDoHPath       paramKey = 7 // RFC 9461 §5
	paramOHTTP         paramKey = 8 // RFC 9540 §4

	paramReserved paramKey = 65535
)

var paramNames = [...]string{"mandatory", "alpn", "no-default-alpn", "port", "ipv4hint", "ech", "ipv6hint", "dohpath", "ohttp"}

func (k paramKey) String() string {
	if int(k) < len(paramNames) {
		return paramNames[k]
	}
	return "key" + strconv.Itoa(int(k))
}

func parseParamKey(text string) (key paramKey, generic bool, err error) {
	if i := slices.Index(paramNames[:], text); i >= 0 {
		return paramKey(i), false, nil
	}
	digits, ok := strings.CutPrefix(text, "key")
	n, err := strconv.ParseUint(digits, 10, 16)
	if !ok || err != nil || digits != strconv.FormatUint(n, 10) || paramKey(n) == paramReserved {
		return 0, false, fmt.Errorf("%s is not the key of a service parameter; write one of %s, or \"key\" and its number, "+
			"as in \"key667\"",
			quote(text), strings.Join(paramNames[:], ", "))
	}
	return paramKey(n), true, nil
}

type param struct {
	key     paramKey
	generic bool
	value   string
}

// appendParams appends service parameters in the order of their keys (RFC 9460 §2.2). A key given twice is an error.
func appendParams(wire []byte, tokens []token) ([]byte, error) {
	var space [8]param
	params := space[:0]
	for _, t := range tokens {
		p, err := parseParam(t)
		if err != nil {
			return nil, err
		}
		params = append(params, p)
	}
	slices.SortFunc(params, func(a, b param) int { return int(a.key) - int(b.key) })
	for i, p := range params {
		if i > 0 && params[i-1].key == p.key {
			return nil, fmt.Errorf("%s stands twice; write each key once", p.key)
		}
		// The two octets of the length are set below.
		wire = append(binary.BigEndian.AppendUint16(wire, uint16(p.key)), 0, 0)
		start := len(wire)
		var err error
		if wire, err = p.appendValue(wire); err != nil {
			return nil, err
		}
		binary.BigEndian.PutUint16(wire[start-2:], uint16(len(wire)-start))
	}
	return wire, nil
}

// parseParam splits a parameter into key and value, without quotes around the value but with its escapes.
func parseParam(t token) (p param, err error) {
	if t.quoted {
		return p, fmt.Errorf("%s is quoted, but only the value of a parameter may be; write key=\"value\"", quote(t.text))
	}
	name, value, _ := strings.Cut(t.text, "=")
	if p.key, p.generic, err = parseParamKey(name); err != nil {
		return p, err
	}
	p.value = value
	if strings.HasPrefix(value, `"`) {
		inner, end, err := quotedField(value, 0)
		if err != nil || end != len(value) {
			return p, fmt.Errorf("%s goes on behind the quote that closes its value; put a blank between parameters", name)
		}
		p.value = inner.text
		return p, nil
	}
	// Skip escaped characters, and find quotes.
	for rest := value; rest != ""; {
		if rest[0] == '"' {
			return p, fmt.Errorf("%s has a quote inside of its value; "+
				"quote the whole value, and write \\\" for a quote that belongs to the data", name)
		}
		_, size := unescape(rest)
		rest = rest[size:]
	}
	return p, nil
}

// appendValue appends the wire form of the value. A key by number, such as key1, has octets without a format.
func (p param) appendValue(wire []byte) ([]byte, error) {
	if p.generic {
		return appendOctets(wire, p.value), nil
	}
	switch p.key {
	case paramMandatory:
		return appendMandatory(wire, p.value)
	case paramALPN:
		return appendALPN(wire, p.value)
	case paramNoDefaultALPN, paramOHTTP:
		if p.value != "" {
			return nil, fmt.Errorf("%s has a value, and takes none; write the key alone", p.key)
		}
		return wire, nil
	case paramPort:
		port, err := strconv.ParseUint(p.value, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("port has %s, which is not a number from 0 to 65535", quote(p.value))
		}
		return binary.BigEndian.AppendUint16(wire, uint16(port)), nil
	case paramIPv4Hint, paramIPv6Hint:
		return appendHints(wire, p.key, p.value)
	case paramECH:
		wire, err := decodeBase64(wire, p.value)
		if err != nil {
			return nil, fmt.Errorf("ech has %s, which %w", quote(p.value), err)
		}
		return wire, nil
	}
	return appendOctets(wire, p.value), nil
}

// appendMandatory appends the numbers of the keys in a list, sorted (RFC 9460 §8).
func appendMandatory(wire []byte, list string) ([]byte, error) {
	if list == "" {
		return wire, nil // checkParams has the error
	}
	var space [8]paramKey
	keys := space[:0]
	for item := range strings.SplitSeq(list, ",") {
		if item == "" {
			return nil, errEmptyItem(paramMandatory)
		}
		key, _, err := parseParamKey(item)
		if err != nil {
			return nil, fmt.Errorf("mandatory: %w", err)
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		wire = binary.BigEndian.AppendUint16(wire, uint16(key))
	}
	return wire, nil
}

// appendALPN appends the protocols in a list, each with its length (RFC 9460 §7.1).
func appendALPN(wire []byte, list string) ([]byte, error) {
	if list == "" {
		return wire, nil // checkParams has the error
	}
	var space [256]byte
	// The list has escapes of its own below those of the text: "\\," is a comma in a protocol.
	octets := appendOctets(space[:0], list)
	at := len(wire)
	wire = append(wire, 0)
	for i := 0; i < len(octets); i++ {
		c := octets[i]
		switch {
		// "h2,,h3" has an empty item.
		case c == ',' && wire[at] == 0:
			return nil, errEmptyItem(paramALPN)
		case c == ',':
			at = len(wire)
			wire = append(wire, 0)
			continue
		case c == '\\':
			if i++; i == len(octets) || octets[i] != '\\' && octets[i] != ',' {
				return nil, errors.New("alpn has a backslash that escapes neither a comma nor a backslash (RFC 9460 §A.1); " +
					"name protocols as IANA registers them, as in \"alpn=h2\"")
			}
			c = octets[i]
		}
		if wire[at] == 255 {
			return nil, errors.New("alpn has a protocol of more than 255 octets; name protocols as IANA registers them, as in \"alpn=h2\"")
		}
		wire = append(wire, c)
		wire[at]++
	}
	if wire[at] == 0 {
		return nil, errEmptyItem(paramALPN)
	}
	return wire, nil
}

func errEmptyItem(key paramKey) error {
	return fmt.Errorf("%s has nothing before or behind a comma; take the comma away, or name what belongs there", key)
}

func appendHints(wire []byte, key paramKey, list string) ([]byte, error) {
	for item := range strings.SplitSeq(list, ",") {
		addr, err := netip.ParseAddr(item)
		if err != nil || addr.Zone() != "" || addr.Is4() != (key == paramIPv4Hint) {
			if key == paramIPv4Hint {
				return nil, fmt.Errorf("ipv4hint has %s, which is no IPv4 address; list addresses with commas between them, "+
					"as in \"ipv4hint=192.0.2.1,192.0.2.2\"", quote(item))
			}
			return nil, fmt.Errorf("ipv6hint has %s, which is no IPv6 address; list addresses with commas between them, "+
				"as in \"ipv6hint=2001:db8::1,2001:db8::2\"", quote(item))
		}
		wire = append(wire, addr.AsSlice()...)
	}
	return wire, nil
}

// readParams appends the text of service parameters. It quotes all values, because some need quotes (RFC 9460 §2.2).
func (d *decoder) readParams(text []byte) []byte {
	last := -1
	for len(d.rest) > 0 {
		key, value := d.readParam()
		if *d.err != nil {
			return text
		}
		if int(key) <= last {
			d.fail(fmt.Errorf("parameter %s stands twice or not in order (RFC 9460 §2.2); sort the keys by number", key))
			return text
		}
		if last >= 0 {
			text = append(text, ' ')
		}
		last = int(key)
		text = append(append(text, key.String()...), '=', '"')
		start := len(text)
		var err error
		if text, err = appendParamText(text, key, value); err != nil {
			d.fail(err)
			return text
		}
		if len(text) == start {
			text = text[:start-2] // a key without a value
		} else {
			text = append(text, '"')
		}
	}
	return text
}

func (d *decoder) readParam() (key paramKey, value []byte) {
	head := d.readOctets(4)
	return paramKey(binary.BigEndian.Uint16(head)), d.readOctets(int(binary.BigEndian.Uint16(head[2:])))
}

// appendParamText appends the text of a value without quotes around it. A value that the key does not allow is an
// error.
func appendParamText(text []byte, key paramKey, value []byte) ([]byte, error) {
	switch key {
	case paramMandatory:
		return appendMandatoryText(text, value)
	case paramALPN:
		return appendALPNText(text, value)
	case paramNoDefaultALPN, paramOHTTP:
		if len(value) > 0 {
			return text, fmt.Errorf("%s has a value, and takes none", key)
		}
		return text, nil
	case paramPort:
		if len(value) != 2 {
			return text, fmt.Errorf("port has %d octets, and takes 2 (RFC 9460 §7.2)", len(value))
		}
		return strconv.AppendUint(text, uint64(binary.BigEndian.Uint16(value)), 10), nil
	case paramIPv4Hint:
		return appendHintsText(text, key, value, 4)
	case paramIPv6Hint:
		return appendHintsText(text, key, value, 16)
	case paramECH:
		return base64.StdEncoding.AppendEncode(text, value), nil
	case paramReserved:
		return text, errors.New("key 65535 is reserved (RFC 9460 §14.3.2); leave it out")
	}
	for _, c := range value {
		text = appendParamOctet(text, c)
	}
	return text, nil
}

func appendParamOctet(text []byte, c byte) []byte {
	switch {
	case c == '"' || c == ';' || c == ' ' || c == '\\':
		return append(text, '\\', c)
	case c < ' ' || c > '~':
		return appendDDD(text, c)
	}
	return append(text, c)
}

func appendMandatoryText(text, value []byte) ([]byte, error) {
	last := -1
	for ; len(value) >= 2; value = value[2:] {
		key := paramKey(binary.BigEndian.Uint16(value))
		if int(key) <= last || key == paramReserved {
			return text, errors.New("mandatory lists its keys out of order or twice, or 65535 (RFC 9460 §8); list each once")
		}
		if last >= 0 {
			text = append(text, ',')
		}
		last = int(key)
		text = append(text, key.String()...)
	}
	if len(value) > 0 {
		return text, errors.New("mandatory has an odd number of octets, and a key has two (RFC 9460 §8)")
	}
	return text, nil
}

// appendALPNText appends the protocols of an alpn, with commas between them.
func appendALPNText(text, value []byte) ([]byte, error) {
	for first := true; len(value) > 0; first = false {
		n := int(value[0])
		if n == 0 || n >= len(value) {
			return text, errors.New("alpn has a protocol without octets, or with less than it announces (RFC 9460 §7.1.1)")
		}
		if !first {
			text = append(text, ',')
		}
		for _, c := range value[1 : 1+n] {
			if c == ',' || c == '\\' { // not as "\," or "\\"
				text = appendDDD(append(text, `\\`...), c)
			} else {
				text = appendParamOctet(text, c)
			}
		}
		value = value[1+n:]
	}
	return text, nil
}

func appendHintsText(text []byte, key paramKey, value []byte, size int) ([]byte, error) {
	if len(value) == 0 || len(value)%size != 0 {
		return text, fmt.Errorf("%s has %d octets, and an address has %d (RFC 9460 §7.3)", key, len(value), size)
	}
	for first := true; len(value) > 0; value, first = value[size:], false {
		addr, _ := netip.AddrFromSlice(value[:size])
		if !first {
			text = append(text, ',')
		}
		text = addr.AppendTo(text)
	}
	return text, nil
}

// checkParams returns an error if a required parameter is missing (RFC 9460 §2.4.3, §8), or if some server would not
// load the parameters.
func checkParams(wire []byte) error {
	d := newDecoder(wire[2:], noMark)
	d.readName(nil)
	var present [1 << 16 / 64]uint64 // a bit for each key
	var mandatory []byte
	params := 0
	has := func(key paramKey) bool { return present[key/64]&(1<<(key%64)) != 0 }
	if wire[0]|wire[1] == 0 && len(d.rest) > 0 {
		// PowerDNS would read the parameters as the next records of the transfer, so a tenant could write others'
		// names.
		return errors.New("priority 0 is the alias form, which has no parameters (RFC 9460 §2.4.2); take them away, " +
			"or write a priority from 1")
	}

	// Check each parameter by itself.
	for len(d.rest) > 0 {
		key, value := d.readParam()
		present[key/64] |= 1 << (key % 64)
		params++
		if key == paramMandatory {
			mandatory = value
		}
		if err := checkParam(key, value); err != nil {
			return err
		}
	}
	if *d.err != nil {
		return *d.err
	}
	if most := maxFields - 2; params > most { // beside priority and target
		return fmt.Errorf("%d parameters, and more than %d are read by not every server: NSD reads no zone file with them; leave some out",
			params, most)
	}

	// Check which parameters belong together.
	if has(paramMandatory) && len(mandatory) == 0 {
		return errors.New("mandatory lists nothing (RFC 9460 §8); name keys, or take it away")
	}
	if has(paramNoDefaultALPN) && !has(paramALPN) {
		return errors.New("no-default-alpn without alpn (RFC 9460 §7.1.1); add alpn, or take no-default-alpn away")
	}
	for ; len(mandatory) >= 2; mandatory = mandatory[2:] {
		key := paramKey(binary.BigEndian.Uint16(mandatory))
		switch {
		case key == paramMandatory:
			return errors.New("mandatory lists itself (RFC 9460 §8); take it out of the list")
		case !has(key):
			return fmt.Errorf("mandatory lists %s, which the value does not have (RFC 9460 §8); add it or take it out of the list", key)
		}
	}
	return nil
}

// unquotedParams have values of numbers, keys, addresses or base64.
var unquotedParams = []paramKey{paramMandatory, paramNoDefaultALPN, paramPort, paramIPv4Hint, paramECH, paramIPv6Hint}

func checkParam(key paramKey, value []byte) error {
	// PowerDNS reads no quotes after "=", in files or its store, and fails to answer.
	if !slices.Contains(unquotedParams, key) && bytes.ContainsAny(value, "();") {
		return fmt.Errorf("%s with a parenthesis or a semicolon is read by not every server; leave it out", key)
	}
	switch key {
	case paramALPN:
		return checkALPN(value)
	case paramECH:
		return checkECH(value)
	case paramDoHPath:
		return checkDoHPath(value)
	}
	return nil
}

func checkALPN(value []byte) error {
	if len(value) == 0 {
		return errors.New("alpn without a protocol (RFC 9460 §7.1.1); name one, as in \"alpn=h2\"")
	}
	for d := newDecoder(value, noMark); len(d.rest) > 0; {
		id := d.readString()
		if slices.ContainsFunc(id, isUnreadALPN) {
			return errors.New("an alpn with a quote, a backslash, or octets that are no printable characters, " +
				"is read by not every server; name protocols as IANA registers them, as in \"alpn=h2\"")
		}
		// Knot 3.2 reads both as an empty item, and rejects the file.
		if len(id) == 1 && len(d.rest) > 0 || bytes.HasPrefix(id, []byte(",")) {
			return errors.New("in alpn, a protocol of one character before others, or one that begins with a comma, " +
				"is read by not every server; name protocols as IANA registers them, as in \"alpn=h2\"")
		}
	}
	return nil
}

// isUnreadALPN reports whether PowerDNS loads the octet, then fails to answer. Knot reads a backslash in a file as two.
func isUnreadALPN(c byte) bool { return c <= ' ' || c >= 0x7f || c == '"' || c == '\\' }

func checkECH(value []byte) error {
	if len(value) == 0 {
		return errors.New("ech without a configuration is read by not every server; give it, or take ech away")
	}
	return nil
}

// queryPath is a path with the variable dns (RFC 9461 §5).
var queryPath = regexp.MustCompile(`^/[A-Za-z0-9\-._~/!$&'()*+,;=:@?]*\{[?&]dns\}[A-Za-z0-9\-._~/!$&'()*+,;=:@?]*$`)

func checkDoHPath(value []byte) error {
	if !queryPath.MatchString(string(value)) {
		return errors.New("dohpath is not a path with the variable dns (RFC 9461 §5); write it as in \"/dns-query{?dns}\"")
	}
	return nil
}
