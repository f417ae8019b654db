// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kubi.zone/kubizone/pkg/dns/rdata"
)

// WrittenNames is the set of names that a load writes: absolute, or relative to zones that may be unknown.
type WrittenNames struct {
	texts map[string]bool
	// beginnings are the absolute names made relative: www and www.example of www.example.org.
	beginnings map[string]bool
}

func (w *WrittenNames) Add(text string) {
	if w.texts == nil {
		w.texts, w.beginnings = make(map[string]bool), make(map[string]bool)
	}
	text = strings.ToLower(text)
	w.texts[text] = true
	for _, beginning := range beginningsOf(text) {
		w.beginnings[beginning] = true
	}
}

func (w *WrittenNames) AddObject(object *unstructured.Unstructured) {
	if text, _, _ := unstructured.NestedString(object.Object, "spec", "domainName"); text != "" {
		w.Add(text)
	}
}

// Have reports whether host, or a wildcard that covers host, may be in the set. A relative name matches every absolute
// name that begins with its labels: www matches www.example.org.
func (w *WrittenNames) Have(host string) bool {
	host = strings.ToLower(host)
	if w.mayHave(host) {
		return true
	}
	_, parent, _ := strings.Cut(host, ".")
	for parent != "" {
		if w.mayHave("*." + parent) {
			return true
		}
		_, parent, _ = strings.Cut(parent, ".")
	}
	return w.texts["*"]
}

func (w *WrittenNames) mayHave(text string) bool {
	if w.texts[text] || w.beginnings[text] {
		return true
	}
	return slices.ContainsFunc(beginningsOf(text), func(beginning string) bool { return w.texts[beginning] })
}

func beginningsOf(text string) (all []string) {
	if !strings.HasSuffix(text, ".") {
		return nil
	}
	for i := range len(text) {
		if text[i] == '.' {
			all = append(all, text[:i])
		}
	}
	return all
}

// HostsOf returns the host names in a Record's data, as written.
func HostsOf(object *unstructured.Unstructured) (hosts []string) {
	text, _, _ := unstructured.NestedString(object.Object, "spec", "type")
	rrtype, err := rdata.ParseType(text)
	if err != nil {
		return nil
	}
	values, _, _ := unstructured.NestedStringSlice(object.Object, "spec", "values")
	if one, _, _ := unstructured.NestedString(object.Object, "spec", "rdata"); one != "" {
		values = append(values, one)
	}
	for _, value := range values {
		if host := (rdata.Value{Type: rrtype, Text: strings.TrimSpace(value)}).Host(); host != "" {
			hosts = append(hosts, host)
		}
	}
	return hosts
}
