// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"kubi.zone/kubizone/pkg/zone/law"
)

// Encode encodes a value as JSON, without escapes of "<", ">" and "&", as each takes six octets.
func Encode(v any) []byte {
	b, err := json.Marshal(v)
	if err == nil && bytes.Contains(b, escaped) {
		var plain bytes.Buffer
		encoder := json.NewEncoder(&plain)
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(v)
		// The encoder ends the text with a newline, unlike Marshal.
		b = bytes.TrimSuffix(plain.Bytes(), []byte("\n"))
	}
	if err != nil {
		panic(fmt.Sprintf("encoding %T: %v", v, err))
	}
	return b
}

// escaped begins an escaped <, > or &, and a control character, which no value has.
var escaped = []byte(`\u00`)

func Decode(data []byte, into any) error { return json.Unmarshal(data, into) }

func Rewrite[T any](data []byte, edit func(*T)) ([]byte, error) {
	var v T
	if err := Decode(data, &v); err != nil {
		return nil, err
	}
	edit(&v)
	return Encode(v), nil
}

// DecodeFact decodes the stored value of a fact. Ranges, objects and other facts without a value of their own are an
// error.
func DecodeFact(k law.Key, data []byte) (any, error) {
	var v any
	switch k.Kind {
	case law.KindHolding:
		v = &law.Holding{}
	case law.KindOwner:
		v = &law.Owner{}
	case law.KindCount:
		v = &law.Count{}
	case law.KindCut:
		v = &law.CountedCut{}
	case law.KindAddressed:
		v = &law.Addressed{}
	case law.KindReverseLinks:
		v = &law.ReverseLinks{}
	case law.KindRules:
		v = &law.NamespaceRules{}
	case law.KindWork:
		v = &law.Work{}
	case law.KindWithdrawal:
		v = &law.Withdrawal{}
	case law.KindLastSerial:
		v = &law.LastSerial{}
	default:
		return nil, fmt.Errorf("a fact of kind %d is not stored", k.Kind)
	}

	return v, Decode(data, v)
}

// DecodeName returns the fact's key and the holding of a key of names/.
func (k Keys) DecodeName(key string, value []byte) (law.Key, *law.Holding, error) {
	view, fqdn, err := k.ParseName("names", key)
	if err != nil {
		return law.Key{}, nil, err
	}
	fact := law.HoldingKey(view, fqdn)
	v, err := DecodeFact(fact, value)
	if err != nil {
		return law.Key{}, nil, Unreadable(key, err)
	}
	return fact, v.(*law.Holding), nil
}

var ErrUnreadable = errors.New("does not parse")

// Unreadable returns the error for an internal key or value that does not parse.
func Unreadable(key string, err error) error {
	return fmt.Errorf("%s %w (%w): run kubizone fsck, which names the damage", key, ErrUnreadable, err)
}
