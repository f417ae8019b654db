// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rndc

import (
	"bytes"
	"crypto/hmac"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

const version = 1

const (
	// maxMessage is named's limit in octets, maxAnswer ours.
	maxMessage, maxAnswer = 32 << 10, 4 << 20
	maxDepth              = 4
	macOctets             = 88
)

// Types as in BIND's lib/isccc/include/isccc/cc.h, which also has lists.
const (
	typeString, typeBinary, typeTable byte = 0, 1, 2
)

type table []element

type element struct {
	key   string
	value any
}

func (t table) find(key string) table {
	for _, e := range t {
		if inner, ok := e.value.(table); ok && e.key == key {
			return inner
		}
	}
	return nil
}

func (t table) text(key string) (string, bool) {
	for _, e := range t {
		if octets, ok := e.value.([]byte); ok && e.key == key {
			return string(octets), true
		}
	}
	return "", false
}

// appendTable requires keys of at most 255 octets.
func appendTable(wire []byte, t table) []byte {
	for _, e := range t {
		kind, inner := typeBinary, []byte(nil)
		switch value := e.value.(type) {
		case []byte:
			inner = value
		case table:
			kind, inner = typeTable, appendTable(nil, value)
		}
		wire = append(append(wire, byte(len(e.key))), e.key...)
		wire = binary.BigEndian.AppendUint32(append(wire, kind), uint32(len(inner)))
		wire = append(wire, inner...)
	}
	return wire
}

var errCut = errors.New("a message of the control channel ends within a value")

// parseTable parses elements, each a key with its length before, and a value, until wire ends. A key may be empty, and
// may occur twice.
func parseTable(wire []byte, depth int) (t table, err error) {
	for len(wire) > 0 {
		length := int(wire[0])
		if wire = wire[1:]; len(wire) < length {
			return nil, errCut
		}
		e := element{key: string(wire[:length])}
		if e.value, wire, err = parseValue(wire[length:], depth); err != nil {
			return nil, err
		}
		t = append(t, e)
	}
	return t, nil
}

// parseValue parses a value: a type octet, four octets of length, and the data. rest is behind the value. Tables nest
// up to maxDepth (R3).
func parseValue(wire []byte, depth int) (value any, rest []byte, err error) {
	if len(wire) < 5 {
		return nil, nil, errCut
	}
	kind, length := wire[0], binary.BigEndian.Uint32(wire[1:])
	if wire = wire[5:]; uint64(length) > uint64(len(wire)) {
		return nil, nil, errCut
	}
	inner, rest := wire[:length], wire[length:]
	switch {
	case kind == typeString, kind == typeBinary:
		return inner, rest, nil
	case depth == maxDepth:
		return nil, nil, fmt.Errorf("a message of the control channel is nested deeper than %d", maxDepth)
	case kind == typeTable:
		value, err = parseTable(inner, depth+1)
		return value, rest, err
	}
	return nil, nil, fmt.Errorf("a message of the control channel has a value of type %d: octets and tables are read", kind)
}

func (k Key) sign(body table) []byte {
	signed := appendTable(nil, body)
	message := binary.BigEndian.AppendUint32(make([]byte, 4, len(signed)+128), version)
	message = appendTable(message, table{{"_auth", table{{"hsha", k.mac(signed)}}}})
	message = append(message, signed...)
	binary.BigEndian.PutUint32(message, uint32(len(message)-4))
	return message
}

func (k Key) mac(signed []byte) []byte {
	place := make([]byte, 1+macOctets)
	place[0] = algorithms[k.Algorithm]
	base64.StdEncoding.Encode(place[1:], k.MAC(signed))
	return place
}

var errSignature = errors.New("the answer of the control channel is not signed with the agent's key; give the agent the key of named's " +
	"controls block")

// verifyMessage returns the signed part of a message, or errSignature. The message has no length, and begins with the
// version.
func (k Key) verifyMessage(message []byte) (table, error) {
	if len(message) < 4 || binary.BigEndian.Uint32(message) != version {
		return nil, fmt.Errorf("the control channel does not speak version %d of its protocol", version)
	}
	wire := message[4:]
	const first = "\x05_auth"
	// _auth must be first, since the signature covers everything behind it.
	if !bytes.HasPrefix(wire, []byte(first)) {
		return nil, errSignature
	}
	auth, signed, err := parseValue(wire[len(first):], 0)
	if err != nil {
		return nil, err
	}
	given, _ := auth.(table)
	mac, _ := given.text("hsha")
	// named may omit the padding of base64.
	trim := func(mac []byte) []byte { return bytes.TrimRight(mac, "\x00=") }
	if want := k.mac(signed); !hmac.Equal(trim(slices.Clone([]byte(mac))), trim(want)) {
		return nil, errSignature
	}
	return parseTable(signed, 0)
}
