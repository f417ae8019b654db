// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package name

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var (
	labels = rapid.OneOf(rapid.StringMatching(`[a-z0-9_/-]{1,12}`), rapid.SampledFrom([]string{"a", "b", "aa", "xn--bcher-kva", "_x", "-"}))
	names  = rapid.Custom(func(t *rapid.T) Name {
		parts := rapid.SliceOfN(labels, 0, 5).Draw(t, "labels")
		if len(parts) > 0 && rapid.Bool().Draw(t, "wildcard") {
			parts[0] = "*"
		}
		n, err := Parse(strings.Join(parts, ".") + ".")
		if err != nil {
			t.Skip(err) // IDNA refuses the drawn label
		}
		return n
	})
	// texts generates names, almost valid names and noise.
	texts = rapid.OneOf(
		rapid.String(),
		rapid.StringOfN(rapid.RuneFrom([]rune("aAzZ09-_/*.@。．ü\u00adß例xn-\u0308\u200d ")), 0, 40, -1),
		rapid.Map(rapid.SliceOfN(rapid.OneOf(labels, rapid.StringN(1, 6, -1)), 1, 4), func(p []string) string { return strings.Join(p, ".") + "." }),
	)
)

// An accepted name is canonical (S1.2), within the limits (S1.3), and parses to itself.
func TestParse_idempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkText(t, texts.Draw(t, "text")) })
}

type failer interface{ Fatalf(string, ...any) }

func checkText(t failer, text string) {
	origin := MustParse("example.org.")
	n, err := ParseIn(text, origin)
	r, relErr := ParseRel(text)
	abs, absErr := Parse(text)
	if relErr == nil && absErr == nil {
		t.Fatalf("%q is both relative (%s) and absolute (%s)", text, r, abs)
	}
	if absErr == nil && !IsAbsolute(text) || relErr == nil && IsAbsolute(text) {
		t.Fatalf("S1.1: IsAbsolute(%q) = %t disagrees with the parsers", text, IsAbsolute(text))
	}
	if absErr == nil && (err != nil || n != abs) {
		t.Fatalf("ParseIn(%q) = %s, %v; Parse gives %s", text, n, err, abs)
	}
	if relErr == nil {
		in, inErr := r.In(origin)
		if (inErr == nil) != (err == nil) || in != n {
			t.Fatalf("ParseIn(%q) = %s, %v; ParseRel and In give %s, %v", text, n, err, in, inErr)
		}
		if again, err := ParseRel(r.String()); err != nil || again != r {
			t.Fatalf("ParseRel(%q) = %q, %v", r, again, err)
		}
	}
	if err != nil {
		if err.Error() == "" || !n.IsZero() {
			t.Fatalf("ParseIn(%q) = %s with error %v", text, n, err)
		}
		return
	}
	if again, err := Parse(n.String()); err != nil || again != n {
		t.Fatalf("S1.2: Parse(%q) = %q, %v", n, again, err)
	}
	if n.WireLen() > 255 || n.String() != strings.ToLower(n.String()) || !strings.HasSuffix(n.String(), ".") {
		t.Fatalf("S1.2, S1.3: %q is not canonical", n)
	}
	for i, label := range n.Labels() {
		if len(label) == 0 || len(label) > 63 || strings.Contains(label, "*") && (label != "*" || i > 0) {
			t.Fatalf("S1.3: label %q of %q", label, n)
		}
	}
	if back, err := FromKey(n.Key()); err != nil || back != n {
		t.Fatalf("FromKey(%q) = %q, %v; want %q", n.Key(), back, err, n)
	}
}

func FuzzParseName(f *testing.F) {
	for _, text := range []string{"", ".", "@", "www", "www.example.org.", "*.a.", "。", "例え。テスト。", "xn--a.", "XN--BCHER-KVA.", "0/25.a.", "r3---x.", "a..b.", "_x.", "\xff.", "a\u00ad.", "＠"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkText(t, text) })
}

// Names sort label by label, beginning at the rightmost (RFC 4034 §6.1).
func TestCompare_twin(t *testing.T) {
	twin := func(a, b Name) int {
		la, lb := a.Labels(), b.Labels()
		slices.Reverse(la)
		slices.Reverse(lb)
		return slices.CompareFunc(la, lb, func(x, y string) int { return bytes.Compare([]byte(x), []byte(y)) })
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := names.Draw(t, "a"), names.Draw(t, "b")
		if got, want := a.Compare(b), twin(a, b); got != want || b.Compare(a) != -want {
			t.Fatalf("S6.1: %s to %s: %d, the definition says %d", a, b, got, want)
		}
		if (a.Compare(b) == 0) != (a == b) {
			t.Fatalf("%s and %s: equal in order, not in value", a, b)
		}
	})
}

// The key of a zone is a prefix of the keys of all names in the zone, and of no other key, so a zone is a single range
// in etcd. No two names have the same key.
func TestKey_prefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := names.Draw(t, "a"), names.Draw(t, "b")
		if got, want := strings.HasPrefix(b.Key(), a.Key()), a.Encloses(b); got != want {
			t.Fatalf("prefix %t, Encloses %t: %s and %s", got, want, a, b)
		}
		if (a.Key() == b.Key()) != (a == b) {
			t.Fatalf("keys of %s and %s", a, b)
		}
		if strings.ContainsAny(a.Key(), "/") {
			t.Fatalf("key %q has a slash", a.Key())
		}
	})
}

func TestRel_inverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, origin, other := names.Draw(t, "n"), names.Draw(t, "origin"), names.Draw(t, "other")
		r, ok := n.Rel(origin)
		if ok != origin.Encloses(n) {
			t.Fatalf("%s in %s: %t", n, origin, ok)
		}
		if !ok {
			return
		}
		if back, err := r.In(origin); err != nil || back != n {
			t.Fatalf("%s in %s is %s, back %s, %v", n, origin, r, back, err)
		}
		if back, err := RelFromKey(r.Key()); err != nil || back != r {
			t.Fatalf("RelFromKey(%q) = %q, %v", r.Key(), back, err)
		}
		if s, ok := other.Rel(origin); ok && r.Compare(s) != n.Compare(other) {
			t.Fatalf("order of %s, %s in %s", n, other, origin)
		}
		if p, ok := r.Parent(); ok {
			abs, err := p.In(origin)
			if want, _ := n.Parent(); err != nil || abs != want {
				t.Fatalf("parent of %s in %s: %s, %v", r, origin, abs, err)
			}
		}
	})
}
