// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"errors"
	"fmt"
	"slices"
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

func (t token) isQuoted() bool { return t.quoted }

// width returns the length of written.
func (t token) width() int {
	if t.quoted {
		return len(t.text) + 2
	}
	return len(t.text)
}

func (t token) written() string {
	if t.quoted {
		return `"` + t.text + `"`
	}
	return t.text
}

type syntax struct {
	strings bool
	// innerQuotes allows a quoted part in a bare field from paramsField on (alpn="h2").
	innerQuotes bool
}

// splitText appends the fields of a value to fields, without quotes but with escapes. allow is the syntax of the type.
func splitText(text string, allow syntax, fields []token) ([]token, error) {
	const blanks = " \t"
	for rest := strings.TrimLeft(text, blanks); rest != ""; rest = strings.TrimLeft(rest, blanks) {
		split := bareField
		if rest[0] == '"' {
			split = quotedField
		}
		field, err := split(rest, syntax{allow.strings, allow.innerQuotes && len(fields) >= paramsField})
		if err != nil {
			return nil, err
		}
		rest = rest[field.width():]
		fields = append(fields, field)
	}
	if len(fields) == 0 {
		return nil, errors.New("the value is empty")
	}
	return fields, checkDirective(fields[0])
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

// quotedField returns the string that begins with the quote at the start of text.
func quotedField(text string, _ syntax) (token, error) {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return token{text[1:i], true}, nil
		case '\\':
			n, err := checkEscape(text[i:])
			if err != nil {
				return token{}, err
			}
			i += n - 1
		case '\n', '\r':
			return token{}, errNewline(text[i])
		}
	}
	return token{}, errors.New("a quoted string is not closed; close it")
}

// bareField returns the field at the start of text, up to a blank. Characters with a meaning in zone files need an
// escape.
func bareField(text string, allow syntax) (token, error) {
	i := 0
	for ; i < len(text) && text[i] != ' ' && text[i] != '\t'; i++ {
		switch c := text[i]; {
		case c == '"' && allow.innerQuotes:
			inner, err := quotedField(text[i:], allow)
			if err != nil {
				return token{}, err
			}
			i += len(inner.text) + 1
		case c == '\\':
			n, err := checkEscape(text[i:])
			if err != nil {
				return token{}, err
			}
			i += n - 1
		default:
			if err := checkBare(c, text, allow); err != nil {
				return token{}, err
			}
		}
	}
	return token{text[:i], false}, nil
}

// checkBare returns an error for a character that a field without quotes has only with an escape.
func checkBare(c byte, field string, allow syntax) error {
	switch {
	case bareFaults[c] != nil:
		return bareFaults[c]
	case allow.strings: // any other octet
		return nil
	case isControl(c):
		return fmt.Errorf("control character %#02x; write \\%03d if it belongs to the data", c, c)
	case c >= utf8.RuneSelf:
		return fmt.Errorf("only ASCII is allowed here; write %s", asciiHint(field))
	}
	return nil
}

var (
	errParenthesis = errors.New("a value stands on one line without parentheses; if they belong to the data, " +
		"put the string in quotes or escape them with \\")
	bareFaults = [256]error{'\n': errNewline('\n'), '\r': errNewline('\r'), '(': errParenthesis, ')': errParenthesis,
		'"': errors.New("a quote inside an unquoted field; quote the whole field, and write \\\" for a quote that belongs to the data"),
		';': errors.New("a value has no comments; if the semicolon belongs to the data, put the string in quotes or write \\;")}
)

// asciiHint returns the remedy for a field beyond ASCII: its A-labels, if the field is a name.
func asciiHint(field string) string {
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

func checkDirective(first token) error {
	if first.quoted || first.text[0] != '$' {
		return nil
	}
	if directive := strings.ToUpper(first.text); slices.Contains([]string{"$INCLUDE", "$ORIGIN", "$TTL", "$GENERATE"}, directive) {
		return fmt.Errorf("%s is a directive of zone files, a value has none; write the data itself, in quotes if it begins so", directive)
	}
	return nil
}

// appendString appends data as a quoted string in canonical spelling.
func appendString(text, data []byte) []byte {
	text = append(text, '"')
	for _, c := range data {
		text = appendOctet(text, c, `"\`, ' ')
	}
	return append(text, '"')
}

// appendOctet appends an octet as \X if special has it, and as \DDD if it is below least or no printable ASCII.
func appendOctet(text []byte, c byte, special string, least byte) []byte {
	if strings.IndexByte(special, c) >= 0 {
		return append(text, '\\', c)
	}
	if c < least || c > '~' {
		return appendDDD(text, c)
	}
	return append(text, c)
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
		text = appendOctet(text, toLower(c), labelSyntax, '!')
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
