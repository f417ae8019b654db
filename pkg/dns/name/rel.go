// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package name

import (
	"fmt"
	"strings"
)

// Rel is a canonical owner name relative to a zone, such as "www", or "@" for the apex. The zero value is not a name.
type Rel struct{ s string }

var Apex = Rel{"@"}

func (r Rel) String() string { return r.s }

func (r Rel) IsZero() bool { return r.s == "" }

func (r Rel) IsApex() bool { return r.s == "@" }

func (r Rel) IsWildcard() bool { return r.s == "*" || strings.HasPrefix(r.s, "*.") }

func (r Rel) labelText() string {
	if r.s == "@" {
		return ""
	}
	return r.s
}

func (r Rel) Labels() []string { return splitLabels(r.labelText()) }

func (r Rel) NumLabels() int {
	if r.s == "" || r.s == "@" {
		return 0
	}
	return strings.Count(r.s, ".") + 1
}

// In returns the absolute name of r in the zone origin. It returns an error if the name exceeds 255 octets, or if
// origin is a wildcard.
func (r Rel) In(origin Name) (Name, error) {
	switch {
	case r.s == "" || origin.s == "":
		return Name{}, fmt.Errorf("name %s in %s: both the name and its origin must be given", Quote(r.s), Quote(origin.s))
	case r.s == "@":
		return origin, nil
	// www.*.example.org. would be no name: a "*" is the leftmost label only.
	case origin.IsWildcard():
		return Name{}, fmt.Errorf("name %s in %s: \"*\" may only be the leftmost label", Quote(r.s), Quote(origin.s))
	}
	if n := len(r.s) + 1 + origin.WireLen(); n > maxWire {
		return Name{}, fmt.Errorf("name %s in %s is %d octets on the wire, the limit is %d (RFC 1035 §2.3.4); shorten it", Quote(r.s),
			Quote(origin.s), n, maxWire)
	}
	if origin.s == "." {
		return Name{r.s + "."}, nil
	}
	return Name{r.s + "." + origin.s}, nil
}

// Compare compares two names in canonical order (RFC 4034 §6.1), the apex first.
func (r Rel) Compare(other Rel) int { return compareLabels(r.labelText(), other.labelText()) }

func (r Rel) Key() string { return labelsToKey(r.labelText()) }

// Parent returns r without the leftmost label, or false if r is the apex.
func (r Rel) Parent() (Rel, bool) {
	if r.s == "" || r.s == "@" {
		return Rel{}, false
	}
	if i := strings.IndexByte(r.s, '.'); i >= 0 {
		return Rel{r.s[i+1:]}, true
	}
	return Apex, true
}

func (r Rel) Encloses(sub Rel) bool {
	return r == sub || r.IsApex() || strings.HasSuffix(sub.s, "."+r.s)
}

func RelFromKey(key string) (Rel, error) {
	text, err := keyToLabels(key)
	if err != nil {
		return Rel{}, err
	}
	if text == "" {
		return Apex, nil
	}
	return Rel{text}, nil
}

func (r Rel) MarshalText() ([]byte, error) { return []byte(r.s), nil }

func (r *Rel) UnmarshalText(text []byte) error {
	s := string(text)
	if s == "" {
		*r = Rel{}
		return nil
	}
	if scan := scanASCII(s); scan.canonical() && !scan.absolute {
		*r = Rel{s}
		return nil
	}
	parsed, err := ParseRel(s)
	if err != nil {
		return err
	}
	*r = parsed
	return nil
}

func MustRel(text string) Rel {
	r, err := ParseRel(text)
	if err != nil {
		panic(err)
	}
	return r
}
