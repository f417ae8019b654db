// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"fmt"
	"strconv"
	"strings"

	"kubi.zone/kubizone/pkg/dns/rdata"
)

// TTL is the TTL of an RRset before the zone's default is known. It is a number of seconds, or inherited from the zone,
// or the smaller of both if several Records of the RRset differ. An inherited TTL is not stored as a number, so that a
// new default is a single step, and not a change of every RRset.
type TTL struct {
	// Inherit is true if a Record of the RRset has no ttl, and Explicit if a Record has a ttl. Both may be true.
	Inherit  bool
	Explicit bool
	// Seconds is the smallest explicit ttl.
	Seconds uint32
}

func InheritTTL() TTL { return TTL{Inherit: true} }

func ExplicitTTL(seconds uint32) TTL { return TTL{Explicit: true, Seconds: seconds} }

// Merge returns the TTL of an RRset that has values with either TTL.
func (t TTL) Merge(other TTL) TTL {
	// Without a number, an inherited TTL leaves the other's: inherit and 300 have 300.
	if !t.Explicit {
		t.Seconds = other.Seconds
	}
	if !other.Explicit {
		other.Seconds = t.Seconds
	}
	return TTL{Inherit: t.Inherit || other.Inherit, Explicit: t.Explicit || other.Explicit, Seconds: min(t.Seconds, other.Seconds)}
}

func EqualTTLs(x, y *TTL) bool { return x == y || x != nil && y != nil && *x == *y }

func (t TTL) Resolve(zoneTTL uint32) uint32 {
	switch {
	case !t.Explicit:
		return zoneTTL
	case t.Inherit:
		return min(zoneTTL, t.Seconds)
	default:
		return t.Seconds
	}
}

// String returns "inherit", "300" or "min(inherit,300)", or "none" for the zero value.
func (t TTL) String() string {
	switch {
	case t.Inherit && t.Explicit:
		return "min(inherit," + strconv.FormatUint(uint64(t.Seconds), 10) + ")"
	case t.Inherit:
		return "inherit"
	case t.Explicit:
		return strconv.FormatUint(uint64(t.Seconds), 10)
	default:
		return "none"
	}
}

// ParseTTL parses the output of String, except for "none", the TTL of no RRset.
func ParseTTL(text string) (TTL, error) {
	if text == "inherit" {
		return InheritTTL(), nil
	}
	digits, inherit := text, false
	if rest, ok := strings.CutPrefix(text, "min(inherit,"); ok {
		if digits, inherit = strings.CutSuffix(rest, ")"); !inherit {
			digits = "" // refused below
		}
	}
	seconds, err := strconv.ParseUint(digits, 10, 32)
	ttl := TTL{Inherit: inherit, Explicit: true, Seconds: uint32(seconds)}
	// A definition must not have two spellings.
	if err != nil || seconds > rdata.MaxTTL || ttl.String() != text {
		return TTL{}, fmt.Errorf("ttl %.40q: want \"inherit\", seconds from 0 to %d, or \"min(inherit,SECONDS)\"", text, rdata.MaxTTL)
	}
	return ttl, nil
}

func (t TTL) MarshalText() ([]byte, error) {
	if t == (TTL{}) {
		return nil, fmt.Errorf("ttl: neither inherited nor explicit, an RRset has one of them")
	}
	return []byte(t.String()), nil
}

func (t *TTL) UnmarshalText(text []byte) error {
	ttl, err := ParseTTL(string(text))
	if err != nil {
		return err
	}
	*t = ttl
	return nil
}
