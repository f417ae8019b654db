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

// paramFormat describes the values of a key. A function has its error without the name of the key.
type paramFormat struct {
	encode func(text string) ([]byte, error)
	// decode returns the text without quotes around it. A value that the key does not allow is an error.
	decode func(value []byte) (string, error)
	// check, if not nil, returns an error for a value that some server would not load.
	check func(value []byte) error
	// isText is false for numbers, keys, addresses and base64.
	isText bool
}

var (
	octetsFormat = paramFormat{encode: encodeOctets, decode: decodeOctets, isText: true}
	paramFormats = [...]paramFormat{
		paramMandatory:     {encode: encodeMandatory, decode: decodeMandatory, check: checkMandatory},
		paramALPN:          {encode: encodeALPN, decode: decodeALPN, check: checkALPN, isText: true},
		paramNoDefaultALPN: {encode: encodeNothing, decode: decodeNothing},
		paramPort:          {encode: encodePort, decode: decodePort},
		paramIPv4Hint:      {encode: encodeHints(kindIPv4), decode: decodeHints(kindIPv4)},
		paramECH: {encode: func(text string) ([]byte, error) { return appendBase64(nil, []token{{text: text}}) },
			decode: func(value []byte) (string, error) { return base64.StdEncoding.EncodeToString(value), nil }, check: checkECH},
		paramIPv6Hint: {encode: encodeHints(kindIPv6), decode: decodeHints(kindIPv6)},
		paramDoHPath:  {encode: encodeOctets, decode: decodeOctets, check: checkDoHPath, isText: true},
		paramOHTTP:    {encode: encodeNothing, decode: decodeNothing},
	}
)

func (k paramKey) format() *paramFormat {
	if int(k) < len(paramFormats) {
		return &paramFormats[k]
	}
	return &octetsFormat
}

// appendParams appends service parameters in the order of their keys (RFC 9460 §2.2). A key given twice is an error. A
// key by number, such as key1, has octets without a format.
func appendParams(wire []byte, tokens []token) ([]byte, error) {
	var space [8]param
	params := space[:0]
	for _, t := range tokens {
		p, err := parseParam(t.text)
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
		encode := p.key.format().encode
		if p.generic {
			encode = encodeOctets
		}
		value, err := encode(p.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.key, err)
		}
		wire = binary.BigEndian.AppendUint16(wire, uint16(p.key))
		wire = binary.BigEndian.AppendUint16(wire, uint16(len(value)))
		wire = append(wire, value...)
	}
	return wire, nil
}

// paramForm matches a key, and its value with and without quotes.
var paramForm = regexp.MustCompile(`(?s)^([^=]*)(?:=(?:"((?:[^"\\]|\\.)*)"|((?:[^"\\]|\\.)*)))?$`)

// parseParam splits a parameter into key and value, without quotes around the value but with its escapes.
func parseParam(text string) (p param, err error) {
	parts := paramForm.FindStringSubmatch(text)
	if parts == nil {
		return p, fmt.Errorf("%s has a quote inside of its value, or goes on behind; quote the whole value, write \\\" for a quote that "+
			"belongs to the data, and put a blank between parameters", quote(text))
	}
	p.value = parts[2] + parts[3]
	p.key, p.generic, err = parseParamKey(parts[1])
	return p, err
}

func encodeOctets(text string) ([]byte, error) { return appendOctets(nil, text), nil }

func decodeOctets(value []byte) (string, error) {
	var text []byte
	for _, c := range value {
		text = appendOctet(text, c, `"; \`, ' ')
	}
	return string(text), nil
}

func encodeNothing(text string) ([]byte, error) {
	_, err := decodeNothing([]byte(text))
	return nil, err
}

func decodeNothing(value []byte) (string, error) {
	if len(value) > 0 {
		return "", errors.New("it has a value, and takes none; write the key alone")
	}
	return "", nil
}

func encodePort(text string) ([]byte, error) {
	port, err := parseUint(token{text: text}, 16)
	return binary.BigEndian.AppendUint16(nil, uint16(port)), err
}

func decodePort(value []byte) (string, error) {
	if len(value) != 2 {
		return "", fmt.Errorf("%d octets, and a port has 2 (RFC 9460 §7.2)", len(value))
	}
	return strconv.Itoa(int(binary.BigEndian.Uint16(value))), nil
}

// encodeMandatory returns the numbers of the keys in a list, sorted (RFC 9460 §8).
func encodeMandatory(list string) (value []byte, err error) {
	var keys []paramKey
	for item := range strings.SplitSeq(list, ",") {
		key, _, err := parseParamKey(item)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		value = binary.BigEndian.AppendUint16(value, uint16(key))
	}
	return value, nil
}

func decodeMandatory(value []byte) (string, error) {
	if len(value)%2 > 0 {
		return "", errors.New("an odd number of octets, and a key has two (RFC 9460 §8)")
	}
	var names []string
	last := -1
	for octets := range slices.Chunk(value, 2) {
		key := paramKey(binary.BigEndian.Uint16(octets))
		if int(key) <= last || key == paramReserved {
			return "", errors.New("it lists keys out of order or twice, or 65535 (RFC 9460 §8); list each once")
		}
		last = int(key)
		names = append(names, key.String())
	}
	return strings.Join(names, ","), nil
}

// A list of protocols has escapes of its own, below those of the text: "\\," is a comma in a protocol (RFC 9460 §A.1).
const protocol = `(?:[^,\\]|\\[,\\])+`

var (
	protocols    = regexp.MustCompile(`(?s)^(?:` + protocol + `(?:,` + protocol + `)*)?$`)
	nextProtocol = regexp.MustCompile(`(?s)` + protocol)
	unescapeALPN = strings.NewReplacer(`\,`, `,`, `\\`, `\`)
)

// encodeALPN returns the protocols in a list, each with its length (RFC 9460 §7.1).
func encodeALPN(list string) (value []byte, err error) {
	octets := string(appendOctets(nil, list))
	if !protocols.MatchString(octets) {
		return nil, errors.New("nothing before or behind a comma, or a backslash that escapes neither a comma nor a backslash " +
			"(RFC 9460 §A.1); name protocols as IANA registers them, as in \"alpn=h2\"")
	}
	for _, item := range nextProtocol.FindAllString(octets, -1) {
		id := unescapeALPN.Replace(item)
		if len(id) > 255 {
			return nil, errors.New("a protocol of more than 255 octets; name protocols as IANA registers them, as in \"alpn=h2\"")
		}
		value = append(append(value, byte(len(id))), id...)
	}
	return value, nil
}

// decodeALPN returns the protocols of an alpn, with commas between them.
func decodeALPN(value []byte) (string, error) {
	var ids []string
	for d := newDecoder(value, noMark); len(d.rest) > 0; {
		id := d.readString()
		if *d.err != nil || len(id) == 0 {
			return "", errors.New("a protocol without octets, or with less than it announces (RFC 9460 §7.1.1)")
		}
		text, _ := decodeOctets(id)
		// Not as "\," or "\\".
		ids = append(ids, strings.NewReplacer(`,`, `\\\044`, `\\`, `\\\092`).Replace(text))
	}
	return strings.Join(ids, ","), nil
}

func encodeHints(k *kind) func(list string) ([]byte, error) {
	return func(list string) (value []byte, err error) {
		for item := range strings.SplitSeq(list, ",") {
			if value, err = appendAddress(value, k, item); err != nil {
				return nil, err
			}
		}
		return value, nil
	}
}

func decodeHints(k *kind) func(value []byte) (string, error) {
	return func(value []byte) (string, error) {
		if len(value) == 0 || len(value)%k.octets > 0 {
			return "", fmt.Errorf("%d octets, and an address has %d (RFC 9460 §7.3)", len(value), k.octets)
		}
		var items []string
		for octets := range slices.Chunk(value, k.octets) {
			addr, _ := netip.AddrFromSlice(octets)
			items = append(items, addr.String())
		}
		return strings.Join(items, ","), nil
	}
}

// readParams appends the text of service parameters. It quotes all values, because some need quotes (RFC 9460 §2.2).
func (d *decoder) readParams(text []byte) []byte {
	last := -1
	for len(d.rest) > 0 {
		key, value := d.readParam()
		if *d.err != nil {
			return text
		}
		if int(key) <= last || key == paramReserved {
			d.fail(fmt.Errorf("parameter %s stands twice or not in order, or is 65535 (RFC 9460 §2.2); sort the keys by number", key))
			return text
		}
		if last >= 0 {
			text = append(text, ' ')
		}
		last = int(key)
		text = append(text, key.String()...)
		decoded, err := key.format().decode(value)
		if err != nil {
			d.fail(fmt.Errorf("%s: %w", key, err))
			return text
		}
		if decoded != "" {
			text = append(append(append(text, `="`...), decoded...), '"')
		}
	}
	return text
}

// readParam reads a parameter. The value is a copy, so that the wire form of other types stays on the stack.
func (d *decoder) readParam() (key paramKey, value []byte) {
	head := d.readOctets(4)
	return paramKey(binary.BigEndian.Uint16(head)), bytes.Clone(d.readOctets(int(binary.BigEndian.Uint16(head[2:]))))
}

// checkParams returns an error if a required parameter is missing (RFC 9460 §2.4.3, §8), or if some server would not
// load the parameters.
func checkParams(wire []byte) error {
	d := newDecoder(wire[2:], noMark)
	d.readName(nil)
	if wire[0]|wire[1] == 0 && len(d.rest) > 0 {
		// PowerDNS would read the parameters as the next records of the transfer, so a tenant could write others'
		// names.
		return errors.New("priority 0 is the alias form, which has no parameters (RFC 9460 §2.4.2); take them away, " +
			"or write a priority from 1")
	}
	params := map[paramKey][]byte{}
	for len(d.rest) > 0 {
		key, value := d.readParam()
		if err := checkParam(key, value); err != nil {
			return err
		}
		params[key] = value
	}
	if most := maxFields - 2; len(params) > most { // beside priority and target
		return fmt.Errorf("%d parameters, and more than %d are read by not every server: NSD reads no zone file with them; leave some out",
			len(params), most)
	}

	// Check which parameters belong together.
	required := params[paramMandatory]
	if params[paramNoDefaultALPN] != nil {
		required = append(required, 0, byte(paramALPN))
	}
	for octets := range slices.Chunk(required, 2) {
		if key := paramKey(binary.BigEndian.Uint16(octets)); params[key] == nil {
			return fmt.Errorf("mandatory lists %s, or no-default-alpn needs it, and the value does not have it (RFC 9460 §7.1.1, §8); "+
				"add %s or take the other away", key, key)
		}
	}
	return nil
}

func checkParam(key paramKey, value []byte) error {
	format := key.format()
	// PowerDNS reads no quotes after "=", in files or its store, and fails to answer.
	if format.isText && bytes.ContainsAny(value, "();") {
		return fmt.Errorf("%s with a parenthesis or a semicolon is read by not every server; leave it out", key)
	}
	if format.check == nil {
		return nil
	}
	return format.check(value)
}

func checkMandatory(value []byte) error {
	if len(value) == 0 || binary.BigEndian.Uint16(value) == uint16(paramMandatory) { // the keys are in order
		return errors.New("mandatory lists nothing, or itself (RFC 9460 §8); name other keys, or take it away")
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
