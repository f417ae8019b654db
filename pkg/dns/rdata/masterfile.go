// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"fmt"
	"strconv"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
)

// MasterFile returns the type and data of v for a master file that BIND, Knot, NSD and PowerDNS read. The names in v
// must be absolute. Only unknown types are written in the generic form (RFC 3597), because PowerDNS reads no other type
// in this form.
func (v Value) MasterFile() (rtype, data string, err error) {
	f := formatOf(v.Type)
	if f == nil {
		data, err = v.generic()
		return "TYPE" + strconv.Itoa(int(v.Type)), data, err
	}
	lastKind := f.fields[len(f.fields)-1].kind
	hasList := lastKind == kindParams || lastKind == kindTypes

	// Canonical text is right for all servers, except for names with escapes and for lists.
	isWrittenAsIs := !hasList && (!f.hasNames() || plainNames(v.Text))
	if isWrittenAsIs {
		return v.Type.String(), v.Text, nil
	}

	fields, err := splitText(v.Text, f.syntax, nil)
	if err != nil {
		return "", "", fmt.Errorf("%s rdata %s: %w", v.Type, quote(v.Text), err)
	}
	var out strings.Builder
	out.Grow(len(v.Text) + 16)
	for i, field := range fields {
		if i > 0 {
			out.WriteByte(' ')
		}
		isListed := i >= fieldsBeforeList
		switch {
		case field.quoted:
			out.WriteString(`"` + field.text + `"`)
		case f.isName(i, fields):
			writeName(&out, field.text)
		case lastKind == kindParams && isListed:
			writeParam(&out, field.text)
		// A server may not know the mnemonic of a new type, but knows TYPE262.
		case lastKind == kindTypes && isListed:
			out.WriteString(typeInList(field.text))
		default:
			out.WriteString(field.text)
		}
	}
	return v.Type.String(), out.String(), nil
}

// fieldsBeforeList is the number before the parameters of SVCB and the types of CSYNC.
const fieldsBeforeList = 2

func (v Value) generic() (string, error) {
	wire, err := v.Pack(name.Name{})
	if err != nil {
		return "", err
	}
	text := append(make([]byte, 0, 12+2*len(wire)), `\# `...)
	text = strconv.AppendInt(text, int64(len(wire)), 10)
	if len(wire) > 0 {
		text = append(text, ' ')
	}
	return string(appendUpperHex(text, wire)), nil
}

func inNames(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '/' || c == '*' || c == '.'
}

func plainNames(text string) bool {
	for i := range len(text) {
		if c := text[i]; !inNames(c) && c != ' ' {
			return false
		}
	}
	return true
}

func writeName(out *strings.Builder, text string) {
	for len(text) > 0 {
		c, size := unescape(text)
		if size == 1 && inNames(c) {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(out, `\%03d`, c)
		}
		text = text[size:]
	}
}

func typeInList(text string) string {
	if t, err := ParseType(text); err == nil && t.ByNumber() {
		return "TYPE" + strconv.Itoa(int(t))
	}
	return text
}

func writeParam(out *strings.Builder, text string) {
	key, value, _ := strings.Cut(text, "=")
	switch {
	// PowerDNS accepts no quotes.
	case key == "port":
		value = strings.Trim(value, `"`)
	case key == "no-default-alpn":
		out.WriteString(key)
		return
	// Servers may not know the name, but accept the number.
	case key == "dohpath":
		key = "key7"
	case key == "ohttp":
		key = "key8"
	}
	// PowerDNS needs "=" even without a value.
	if value == "" {
		value = `""`
	}
	out.WriteString(key + "=" + value)
}
