// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
)

// Foreign counts the data of other namespaces in a zone.
type Foreign struct {
	Count      int64
	Namespaces []string
	Names      []name.Name
	More       bool
}

// FirstKeys limits the keys read for a Foreign, and FirstNames its names.
const (
	FirstKeys  = 1000
	FirstNames = 5
)

// Add counts data of a namespace other than own, and notes the first FirstNames names. A zero name is not noted.
func (f *Foreign) Add(own, namespace string, count int64, at name.Name) {
	if namespace == own {
		return
	}
	f.Count += count
	f.Namespaces = appendNew(f.Namespaces, namespace)
	if !at.IsZero() && len(f.Names) < FirstNames {
		f.Names = appendNew(f.Names, at)
	}
}

func (f *Foreign) AddZone(k Key, at name.Name, h *Holding) {
	if h.Parent != nil && h.Parent.UID == k.Object {
		f.Add(k.Namespace, h.Namespace, 1, at)
	}
}

// DescribeFirst returns a summary such as "2 records of 1 other namespace (a.example.)".
func (f *Foreign) DescribeFirst(kind string, first *Foreign) string {
	plural := func(n int64, word string) string {
		if n == 1 {
			return "1 " + word
		}
		return fmt.Sprintf("%d %ss", n, word)
	}

	out := plural(f.Count, kind) + " of " + plural(int64(len(f.Namespaces)), "other namespace")
	if f.More {
		out = "at least " + out
	}
	if first == nil || len(first.Names) == 0 {
		return out
	}

	var names []string
	for _, n := range first.Names {
		names = append(names, n.String())
	}
	if f.Count > int64(len(names)) {
		names = append(names, "...")
	}

	return out + " (" + strings.Join(names, ", ") + ")"
}
