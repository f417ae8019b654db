// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"cmp"
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
	rewrite := listRewrites[f.fields[len(f.fields)-1].kind]
	// Canonical text is right for all servers, except for names with escapes and for lists.
	isWrittenAsIs := rewrite == nil && (!f.hasNames() || plainNames(v.Text))
	if isWrittenAsIs {
		return v.Type.String(), v.Text, nil
	}

	fields, err := splitText(v.Text, f.syntax, nil)
	if err != nil {
		return "", "", fmt.Errorf("%s rdata %s: %w", v.Type, quote(v.Text), err)
	}
	for i, field := range fields {
		switch {
		case f.isName(i, fields):
			fields[i].text = masterName(field.text)
		case rewrite != nil && i >= fieldsBeforeList:
			fields[i].text = rewrite(field.text)
		}
	}
	return v.Type.String(), joinFields(fields), nil
}

// listRewrites has the functions for the parameters of SVCB and the types of CSYNC.
var listRewrites = map[*kind]func(text string) string{kindParams: masterParam, kindTypes: typeInList}

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

func masterName(text string) string {
	var out []byte
	for len(text) > 0 {
		c, size := unescape(text)
		if size == 1 && inNames(c) {
			out = append(out, c)
		} else {
			out = appendDDD(out, c)
		}
		text = text[size:]
	}
	return string(out)
}

// typeInList returns a new type, such as NXNAME, as TYPE128, because a server may not know the mnemonic.
func typeInList(text string) string {
	if t, err := ParseType(text); err == nil && t.ByNumber() {
		return "TYPE" + strconv.Itoa(int(t))
	}
	return text
}

func masterParam(text string) string {
	key, value, _ := strings.Cut(text, "=")
	switch key {
	case "port": // PowerDNS accepts no quotes
		value = strings.Trim(value, `"`)
	case "no-default-alpn":
		return key
	// Servers may not know the name, but accept the number.
	case "dohpath":
		key = "key7"
	case "ohttp":
		key = "key8"
	}
	// PowerDNS needs "=" even without a value.
	return key + "=" + cmp.Or(value, `""`)
}
