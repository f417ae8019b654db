// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package name

import (
	"fmt"
	"strings"
)

// Name is an absolute owner name in canonical form, such as "www.example.org.". The zero value is not a name.
type Name struct{ s string }

var Root = Name{"."}

func (n Name) String() string { return n.s }

func (n Name) IsZero() bool { return n.s == "" }

func (n Name) relText() string {
	if n.s == "" {
		return ""
	}
	return n.s[:len(n.s)-1]
}

// Labels returns the labels from left to right. The root has none.
func (n Name) Labels() []string { return splitLabels(n.relText()) }

func (n Name) NumLabels() int {
	if n.s == "" || n.s == "." {
		return 0
	}
	return strings.Count(n.s, ".")
}

// WireLen returns the length of the uncompressed wire form, at most 255 octets (RFC 1035 §3.1).
func (n Name) WireLen() int {
	switch n.s {
	case "":
		return 0
	case ".":
		return 1
	}
	return len(n.s) + 1
}

func (n Name) IsWildcard() bool { return strings.HasPrefix(n.s, "*.") }

// Parent returns n without the leftmost label, or false if n is the root.
func (n Name) Parent() (Name, bool) {
	if n.s == "" || n.s == "." {
		return Name{}, false
	}
	rest := n.s[strings.IndexByte(n.s, '.')+1:]
	if rest == "" {
		return Root, true
	}
	return Name{rest}, true
}

// Encloses reports whether the name sub is n, or is below n. It returns false if either is zero.
func (n Name) Encloses(sub Name) bool {
	_, ok := n.labelsBelow(sub)
	return ok
}

// labelsBelow returns the labels of sub below n: "www" for www.example.org. in example.org. They are "" if the names
// are equal. The result is false if n does not enclose sub.
func (n Name) labelsBelow(sub Name) (string, bool) {
	rest, ends := strings.CutSuffix(sub.s, n.s)
	switch {
	case n.IsZero(), !ends:
		return "", false
	case n == Root:
		return sub.relText(), true
	case rest == "":
		return "", true
	}
	// A dot precedes n, so notexample.org. is not in example.org.
	return strings.CutSuffix(rest, ".")
}

// Rel returns n relative to origin, or false if origin does not enclose n.
func (n Name) Rel(origin Name) (Rel, bool) {
	left, ok := origin.labelsBelow(n)
	switch {
	case !ok:
		return Rel{}, false
	case left == "":
		return Apex, true
	}
	return Rel{left}, true
}

// Compare compares two names in canonical order (RFC 4034 §6.1). The zero value equals the root.
func (n Name) Compare(m Name) int { return compareLabels(n.relText(), m.relText()) }

// Key returns the labels in reverse order, each followed by a dot, such as "org.example.www.", or "" for the root. A
// slash becomes "~", so a key is safe in a slash-separated path. The key is a prefix of the keys of all names below.
// Keys do not sort in canonical order.
func (n Name) Key() string { return labelsToKey(n.relText()) }

// FromKey is the inverse of Key. It returns an error for any other text, but does not check A-labels again, because
// Unicode tables change.
func FromKey(key string) (Name, error) {
	text, err := keyToLabels(key)
	if err != nil {
		return Name{}, err
	}
	return Name{text + "."}, nil
}

func (n Name) MarshalText() ([]byte, error) { return []byte(n.s), nil }

// UnmarshalText parses a name in presentation format (RFC 1035 §5.1), as Parse does, whose error names the faulty
// label. An empty text is the zero Name, as MarshalText writes it.
func (n *Name) UnmarshalText(text []byte) error {
	s := string(text)
	if s == "" {
		*n = Name{}
		return nil
	}
	// A stored name is canonical, and needs no IDNA.
	if scan := scanASCII(s); scan.canonical() && scan.absolute {
		*n = Name{s}
		return nil
	}
	parsed, err := Parse(s)
	if err != nil {
		return err
	}
	*n = parsed
	return nil
}

func MustParse(text string) Name {
	n, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return n
}

func splitLabels(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ".")
}

// compareLabels compares two names label by label from the right (RFC 4034 §6.1), both without the final dot.
func compareLabels(a, b string) int {
	for a != "" && b != "" {
		var la, lb string
		a, la = cutLast(a)
		b, lb = cutLast(b)
		if c := strings.Compare(la, lb); c != 0 {
			return c
		}
	}
	switch {
	case a != "":
		return 1
	case b != "":
		return -1
	}
	return 0
}

func cutLast(s string) (rest, label string) {
	if i := strings.LastIndexByte(s, '.'); i >= 0 {
		return s[:i], s[i+1:]
	}
	return "", s
}

// labelsToKey returns the key of a name without the final dot, as described at Key.
func labelsToKey(s string) string {
	if s == "" {
		return ""
	}
	var key strings.Builder
	key.Grow(len(s) + 1)
	for s != "" {
		var label string
		s, label = cutLast(s)
		for i := 0; i < len(label); i++ {
			if c := label[i]; c == '/' {
				key.WriteByte('~')
			} else {
				key.WriteByte(c)
			}
		}
		key.WriteByte('.')
	}
	return key.String()
}

// keyToLabels reverses labelsToKey. Any other text is corruption.
func keyToLabels(key string) (string, error) {
	if key == "" {
		return "", nil
	}
	if key[len(key)-1] != '.' {
		return "", fmt.Errorf("key %s: every label of a key ends in a dot, \"org.example.\"", Quote(key))
	}
	if strings.IndexByte(key, '/') >= 0 {
		return "", fmt.Errorf("key %s: a slash in a key is written ~", Quote(key))
	}

	// Write the labels in the order of a name.
	var text strings.Builder
	text.Grow(len(key))
	for s := key[:len(key)-1]; ; {
		var label string
		s, label = cutLast(s)
		text.WriteString(strings.ReplaceAll(label, "~", "/"))
		if s == "" {
			break
		}
		text.WriteByte('.')
	}
	s := text.String()
	// Each name has a single key, so a key that is made otherwise was damaged.
	if scan := scanASCII(s + "."); !scan.canonical() || labelsToKey(s) != key {
		return "", fmt.Errorf("key %s: not the key of a canonical name", Quote(key))
	}
	return s, nil
}
