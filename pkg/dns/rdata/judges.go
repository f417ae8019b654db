// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	_ "embed"
	"strconv"
	"strings"
)

// judgeTable has the types that BIND, Knot, NSD and PowerDNS know, each with the servers that do:
// test/interop/known_types writes it, and fails when the installed servers know others.
//
//go:embed judges.txt
var judgeTable string

// judged has the types of the table; read only.
var judged = func() map[Type]bool {
	types := map[Type]bool{}
	for line := range strings.Lines(judgeTable) {
		number, _, _ := strings.Cut(line, "\t")
		if n, err := strconv.ParseUint(number, 10, 16); err == nil {
			types[Type(n)] = true
		}
	}
	return types
}()
