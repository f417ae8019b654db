// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"iter"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
)

// Base returns the base name of an owner: the labels after the last label that is "*" or begins with "_". For example,
// _acme-challenge.www has the base www.
func Base(owner name.Rel) name.Rel {
	labels := owner.Labels()
	for i := len(labels) - 1; i >= 0; i-- {
		if labels[i] == "*" || IsUnderscore(labels[i]) {
			for ; i >= 0; i-- { // drop labels 0 to i
				owner, _ = owner.Parent()
			}
			return owner
		}
	}
	return owner
}

// AtOrAbove yields the name and the names above, without the apex.
func AtOrAbove(n name.Rel) iter.Seq[name.Rel] {
	return func(yield func(name.Rel) bool) {
		for up, ok := n, true; ok && !up.IsApex(); up, ok = up.Parent() {
			if !yield(up) {
				return
			}
		}
	}
}

func Unstarred(owner name.Rel) name.Rel {
	if owner.IsWildcard() {
		owner, _ = owner.Parent()
	}
	return owner
}

func IsUnderscore(label string) bool { return strings.HasPrefix(label, "_") }

func HasUnderscore(owner name.Rel) bool {
	return IsUnderscore(owner.String()) || strings.Contains(owner.String(), "._")
}

func WildcardAt(up name.Rel) name.Rel {
	if up.IsApex() {
		return name.MustRel("*")
	}
	return name.MustRel("*." + up.String())
}

func PatternFor(owner name.Rel) string {
	if owner.IsApex() {
		return "@"
	}
	return owner.String()
}

func Encloses(up, sub name.Rel) bool {
	for r, ok := sub, true; ok; r, ok = r.Parent() {
		if r == up {
			return true
		}
	}
	return false
}
