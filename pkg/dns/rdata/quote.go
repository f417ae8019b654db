// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import "slices"

// QuoteText returns the value of a TXT for a text: quoted strings in canonical spelling, of 255 octets except the last.
func QuoteText(text string) string {
	if text == "" {
		return `""`
	}
	var value []byte
	for part := range slices.Chunk([]byte(text), 255) {
		if len(value) > 0 {
			value = append(value, ' ')
		}
		value = appendString(value, part)
	}
	return string(value)
}

// QuoteString returns a text as a single string in canonical spelling, as in a CAA. The length is not checked.
func QuoteString(text string) string { return string(appendString(nil, []byte(text))) }
