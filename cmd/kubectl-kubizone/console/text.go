// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/kit/terminal"
)

// maxText and maxShort are numbers of characters; maxShort is for lists.
const (
	maxText  = 400
	maxShort = 80
)

// diffLine is a line of a diff. Kind is "plus", "minus", "tilde" or "". The page links Name between Sign and Text.
type diffLine struct{ Kind, Sign, Name, Text string }

var functions = template.FuncMap{
	"age": func(at any) string {
		t := timeOf(at)
		if t.IsZero() {
			return "?"
		}
		return duration.HumanDuration(time.Since(t))
	},
	"left":  func(at any) string { return duration.HumanDuration(max(0, time.Until(timeOf(at)))) },
	"iso":   func(at any) string { return timeOf(at).UTC().Format(time.RFC3339) },
	"utc":   func(at any) string { return timeOf(at).UTC().Format("2006-01-02 15:04:05 UTC") },
	"clip":  func(text string) string { return clipText(text, maxText) },
	"short": func(text string) string { return clipText(text, maxShort) },
	"tab": func(s *shown, path, text string, exactly bool) map[string]any {
		current := s.Path == path || !exactly && strings.HasPrefix(s.Path, path)
		return map[string]any{"Href": s.Base + path, "Text": text, "Current": current}
	},
	"search": func(base, text string) map[string]any { return map[string]any{"Base": base, "Text": text} },
	"table": func(base, label string, rows []*zoneRow) map[string]any {
		return map[string]any{"Base": base, "Label": label, "Rows": rows}
	},
	"process": func(of v1alpha1.InstallationProcess) state {
		if of.Ended {
			return state{"fails", "ended"}
		}
		return state{"ok", "runs"}
	},
	"member": func(of v1alpha1.InstallationEtcdMember) state {
		if of.Error != "" {
			return state{"fails", of.Error}
		}
		return state{"ok", "answers"}
	},
	"record": func(base, namespace, name string, text ...string) map[string]any {
		return pageOf(cmp.Or(strings.Join(text, ""), namespace+"/"+name), base+"/name", url.Values{"namespace": {namespace},
			"text": {"record/" + name}})
	},
	"diff": func(base string, lines []diffLine) map[string]any {
		return map[string]any{"Base": base, "Lines": lines}
	},
	"fqdn":    func(base, name string) map[string]any { return pageOf(name, base+"/name", url.Values{"text": {name}}) },
	"unicode": name.ToUnicode,
	"count": func(n any, noun string) string {
		if of, is := n.(int64); is {
			return terminal.Count(of, noun)
		}
		return terminal.Count(n.(int), noun)
	},
	"link":    stateOfLink,
	"role":    nameOfRole,
	"failure": func(word string) state { return state{"fails", word} },
	"join":    strings.Join,
	"mib":     func(octets int64) int64 { return octets >> 20 },
	"part": func(of, all int64) int64 {
		if all == 0 {
			return 0
		}
		return of * 100 / all
	},
}

func clipText(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return fmt.Sprintf("%s … (%d characters)", string(runes[:most]), len(runes))
	}
	return text
}

func pageOf(text, path string, query url.Values) map[string]any {
	return map[string]any{"Text": text, "Href": path + "?" + query.Encode()}
}

// timeOf returns the time of a template's value, of any of the four types, and the zero time for nil.
func timeOf(at any) time.Time {
	switch at := at.(type) {
	case *metav1.Time:
		if at != nil {
			return at.Time
		}
	case metav1.Time:
		return at.Time
	case *time.Time:
		if at != nil {
			return *at
		}
	case time.Time:
		return at
	}
	return time.Time{}
}

func sortedKeys(of map[string]bool) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func quote(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@,=+") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func command(words ...string) string {
	for i := range words {
		words[i] = quote(words[i])
	}
	return strings.Join(words, " ")
}
