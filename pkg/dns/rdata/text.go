// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"kubi.zone/kubizone/pkg/dns/name"
)

// maxValue is the maximum size of a value in octets on the wire.
const maxValue = 4096

type token struct {
	text   string
	quoted bool
}

type syntax struct {
	strings bool
	// innerQuotes allows a quoted part in a bare field from paramsField on (alpn="h2").
	innerQuotes bool
}

// splitText appends the fields of a value to fields, without quotes but with escapes. allow is the syntax of the type.
func splitText(text string, allow syntax, fields []token) ([]token, error) {
	for i := 0; ; {
		for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
			i++
		}
		if i == len(text) {
			break
		}
		var (
			field token
			err   error
		)
		if text[i] == '"' {
			field, i, err = quotedField(text, i)
		} else {
			field, i, err = bareField(text, i, syntax{allow.strings, allow.innerQuotes && len(fields) >= paramsField})
		}
		if err != nil {
			return nil, err
		}
		if len(fields) == 0 && !field.quoted {
			if err := checkDirective(field.text); err != nil {
				return nil, err
			}
		}
		fields = append(fields, field)
	}
	if len(fields) == 0 {
		return nil, errors.New("the value is empty")
	}
	return fields, nil
}

func splitFields(f *format, text string, from source, space []token) ([]token, error) {
	fields, err := splitText(text, f.syntax, space)
	if err != nil {
		return nil, err
	}
	// "a" b may be two strings, or text with quotes of its own, so the writer has to decide.
	if from != zoneFile && f.rtype.isText() {
		for _, field := range fields {
			if !field.quoted {
				return nil, fmt.Errorf("%s stands outside of the quotes; text that begins with a quote is quoted strings only, "+
					"so quote this as well, or write \\\" for a quote that belongs to the data", quote(field.text))
			}
		}
	}
	return fields, f.checkCount(fields)
}

// encodeBareText encodes text that has no quotes around it. Backslash, quote and semicolon have no special meaning.
func encodeBareText(text string, wire []byte) ([]byte, error) {
	for i := 0; i < len(text); i++ {
		// Invisible characters would be a mistake.
		switch c := text[i]; {
		case c == '\n', c == '\r':
			return nil, fmt.Errorf("a value stands on one line; if the newline belongs to the data, "+
				"put the text in quotes and write \\%03d there", c)
		case isControl(c) && c != '\t':
			return nil, fmt.Errorf("control character %#02x; if it belongs to the data, put the text in quotes and write \\%03d there", c,
				c)
		}
	}
	for len(text) > 255 {
		wire = append(append(wire, 255), text[:255]...)
		text = text[255:]
	}
	return append(append(wire, byte(len(text))), text...), nil
}

// quotedField returns the string that begins with the quote at start, and the position behind it.
func quotedField(text string, start int) (token, int, error) {
	for i := start + 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return token{text[start+1 : i], true}, i + 1, nil
		case '\\':
			n, err := checkEscape(text[i:])
			if err != nil {
				return token{}, 0, err
			}
			i += n - 1
		case '\n', '\r':
			return token{}, 0, errNewline(text[i])
		}
	}
	return token{}, 0, errors.New("a quoted string is not closed; close it")
}

// bareField returns the field from start up to a blank, and the position behind it. Characters with a meaning in zone
// files need an escape.
func bareField(text string, start int, allow syntax) (token, int, error) {
	i := start
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case c == ' ', c == '\t':
			return token{text[start:i], false}, i, nil
		case c == '"':
			if !allow.innerQuotes {
				return token{}, 0, errors.New("a quote inside an unquoted field; quote the whole field, " +
					"and write \\\" for a quote that belongs to the data")
			}
			_, after, err := quotedField(text, i)
			if err != nil {
				return token{}, 0, err
			}
			i = after - 1
		case c == '\\':
			n, err := checkEscape(text[i:])
			if err != nil {
				return token{}, 0, err
			}
			i += n - 1
		case c == '\n', c == '\r':
			return token{}, 0, errNewline(c)
		case c == ';':
			return token{}, 0, errors.New("a value has no comments; if the semicolon belongs to the data, " +
				"put the string in quotes or write \\;")
		case c == '(', c == ')':
			return token{}, 0, errors.New("a value stands on one line without parentheses; if they belong to the data, " +
				"put the string in quotes or escape them with \\")
		case allow.strings: // any other octet
		case isControl(c):
			return token{}, 0, fmt.Errorf("control character %#02x; write \\%03d if it belongs to the data", c, c)
		case c >= utf8.RuneSelf:
			return token{}, 0, fmt.Errorf("only ASCII is allowed here; write %s", asciiHint(text, start))
		}
	}
	return token{text[start:i], false}, i, nil
}

// asciiHint returns the remedy for a field beyond ASCII: its A-labels, if the field is a name.
func asciiHint(text string, start int) string {
	field := text[start:]
	if i := strings.IndexAny(field, " \t"); i >= 0 {
		field = field[:i]
	}
	if n, err := name.Parse(strings.TrimSuffix(field, ".") + "."); err == nil {
		ascii := n.String()
		if !name.IsAbsolute(field) {
			ascii = strings.TrimSuffix(ascii, ".")
		}
		return "the name in A-labels: " + quote(ascii)
	}
	return "names in A-labels (xn--…), other octets as \\DDD"
}

func errNewline(c byte) error {
	return fmt.Errorf("a value stands on one line; write \\%03d if the newline belongs to the data, and one value for each record", c)
}

// checkEscape returns the length of the escape at the start of s: 2 for \X, 4 for \DDD.
func checkEscape(s string) (int, error) {
	if len(s) < 2 {
		return 0, errors.New("a backslash ends the text; write \\\\ for a backslash")
	}
	switch c := s[1]; {
	case c == '\n', c == '\r':
		return 0, errNewline(c)
	case !isDigit(c):
		return 2, nil
	}
	digits := s[1:min(len(s), 4)]
	switch n, err := strconv.ParseUint(digits, 10, 16); {
	case err != nil, len(digits) < 3:
		return 0, errors.New("a backslash and a digit begin \\DDD, an octet as three decimal digits; write \\\\ for a backslash")
	case n > 255:
		return 0, fmt.Errorf("\\%s is not an octet; \\DDD goes from \\000 to \\255", digits)
	}
	return 4, nil
}

// unescape takes a malformed escape literally.
func unescape(s string) (byte, int) {
	if s[0] != '\\' || len(s) < 2 {
		return s[0], 1
	}
	if len(s) >= 4 && isDigit(s[1]) && isDigit(s[2]) && isDigit(s[3]) {
		return byte(int(s[1]-'0')*100 + int(s[2]-'0')*10 + int(s[3]-'0')), 4
	}
	return s[1], 2
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isControl(c byte) bool { return c < ' ' || c == 0x7f }

func toLower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func checkDirective(first string) error {
	if first[0] != '$' {
		return nil
	}
	switch directive := strings.ToUpper(first); directive {
	case "$INCLUDE", "$ORIGIN", "$TTL", "$GENERATE":
		return fmt.Errorf("%s is a directive of zone files, a value has none; write the data itself, in quotes if it begins so", directive)
	}
	return nil
}

// appendString appends data as a quoted string in canonical spelling.
func appendString(text, data []byte) []byte {
	text = append(text, '"')
	for _, c := range data {
		switch {
		case c == '"' || c == '\\':
			text = append(text, '\\', c)
		case c < ' ' || c > '~':
			text = appendDDD(text, c)
		default:
			text = append(text, c)
		}
	}
	return append(text, '"')
}

func appendDDD(text []byte, c byte) []byte {
	return append(text, '\\', '0'+c/100, '0'+c/10%10, '0'+c%10)
}

// labelSyntax has the characters that mean something in an owner name of a zone file.
const labelSyntax = `.\";()@$`

// appendLabel appends a label in canonical spelling: lower case, with escapes for characters that mean something in a
// zone file.
func appendLabel(text, label []byte) []byte {
	for _, c := range label {
		switch c = toLower(c); {
		case c <= ' ' || c > '~':
			text = appendDDD(text, c)
		case strings.IndexByte(labelSyntax, c) >= 0:
			text = append(text, '\\', c)
		default:
			text = append(text, c)
		}
	}
	return text
}

type source uint8

const (
	oneValue source = iota // a field of an API object, or a Value's Text
	zoneFile               // a line of a zone file
	stored                 // a stored field, read even if not admitted now
)

func (s source) limit() int {
	if s == zoneFile {
		return 65535
	}
	return maxValue
}
