// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What one object may take as it is stored, in octets of JSON. A step of a cascade writes a Record, its Zone and the ledger's
// own keys in one transaction of at most 1.5 MiB, and nobody can make that smaller afterwards: whoever filled an object with
// labels would else keep a name that the zone's owner takes from him (S2.5).
const (
	MaxRecordOctets = 384 << 10
	MaxZoneOctets   = 512 << 10
)

// sized is a generated API type.
type sized interface{ Size() int }

// octets of an object as it is stored, 0 where it is far below the limit: JSON has the names of fields and escapes what
// protobuf does not, and neither makes it sixteen times as long.
func octets(object sized, limit int) int {
	if object.Size() <= limit/16 {
		return 0
	}
	text, err := json.Marshal(object)
	if err != nil {
		return 0 // who stores it says why
	}
	return len(text)
}

// size reports an object that is too large; one that was may shrink. before is nil for a new one.
func size(after, before sized, limit int) field.ErrorList {
	n := octets(after, limit)
	if n <= limit || before != nil && n <= octets(before, limit) {
		return nil
	}
	err := field.TooLong(field.NewPath("metadata"), "", limit)
	err.Detail = fmt.Sprintf("the object takes %d octets, and at most %d are stored with what it belongs to: shorten its labels, annotations and lists", n, limit)
	return field.ErrorList{err}
}
