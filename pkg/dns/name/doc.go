// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package name holds owner names: parsed once, canonical, comparable with ==,
// usable as map keys.
//
// It promises: (1) a Name is absolute, lower case, in A-labels and within the
// limits of RFC 1035 §2.3.4; a Rel obeys the same rules and has no trailing
// dot; (2) the whole text is mapped by IDNA before it is split or judged, so
// U+3002 is a dot before anything is decided (S1.2); (3) parsing a canonical
// form gives the same value again; (4) Key is a bijection whose prefix ranges
// are the subtrees; (5) Compare is the canonical order of RFC 4034 §6.1.
//
// It does not know names inside rdata, which may hold any octet and are the
// business of rdata; nor which zones exist.
//
// Read name.go, then parse.go for the rules of S1.3.
package name
