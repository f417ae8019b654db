// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/pkg/apis/refusal"
)

// maxWarningRunes bounds the Warnings of a response, without the last, which counts the others. A proxy such as
// kube-apiserver would cut each of them to 256 characters from 4096 on.
const maxWarningRunes = 3600

// boundWarnings records the Warnings of a request in headers: the first that fit, and the number of the others.
func boundWarnings(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := &warningRecorder{header: w.Header(), recorded: map[string]*recordedWarning{}}
		handler.ServeHTTP(w, r.WithContext(warning.WithWarningRecorder(r.Context(), recorder)))
	})
}

// warningRecorder replaces the generic server's, which logs an error for each response with more Warnings.
type warningRecorder struct {
	header http.Header

	mutex    sync.Mutex
	recorded map[string]*recordedWarning // by the text without an item
	runes    int
	more     int
	reasons  []string // of the Warnings that more counts
	items    []int    // of a change set, of these Warnings
}

type recordedWarning struct {
	text     string // of the first item
	line     int    // in the header, -1 for one that more counts
	items    []int  // all that have it
	numbered []int  // those in the line, without the first
}

const warningHeader = "Warning"

// AddWarning adds a Warning with its reason, once for each text and reason. Of a change set, further items with the
// same text are numbers in its line, so that a short TTL in each item hides no other mistake. The Warning that counts
// others has all their reasons joined by +, as in AbsentHost+UnnamedGlue, or none if one of them has none.
func (w *warningRecorder) AddWarning(reason, text string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if text == "" {
		return
	}
	items, rule, own := refusal.CutWarning(text)
	key := reason + " " + refusal.Warning(rule, own)
	one := w.recorded[key]
	switch {
	case one == nil:
		one = &recordedWarning{text: text, line: -1, items: items}
		w.recorded[key] = one
		if n := utf8.RuneCountInString(text); w.more == 0 && w.runes+n <= maxWarningRunes {
			if header, err := utilnet.NewWarningHeader(299, reason, text); err == nil { // else no UTF-8
				w.runes += n
				one.line = len(w.header[warningHeader])
				w.header.Add(warningHeader, header)
			}
			return
		}
	// The same Warning of the same item again.
	case len(items) == 0 || slices.Contains(one.items, items[0]):
		return
	default:
		one.items = append(one.items, items[0])
		numbered := append(one.numbered, items[0])
		longer := refusal.WithItems(one.text, numbered...)
		n := len(longer) - len(refusal.WithItems(one.text, one.numbered...))
		if one.line >= 0 && w.runes+n <= maxWarningRunes {
			if header, err := utilnet.NewWarningHeader(299, reason, longer); err == nil {
				w.runes, one.numbered = w.runes+n, numbered
				w.header[warningHeader][one.line] = header
			}
			return
		}
	}
	// The Warning has no room: count it in the last line, which replaces the former last line.
	if w.more > 0 {
		lines := w.header[warningHeader]
		w.header[warningHeader] = lines[:len(lines)-1]
	}
	w.more++
	if !slices.Contains(w.reasons, reason) {
		w.reasons = append(w.reasons, reason)
	}
	if len(items) > 0 && !slices.Contains(w.items, items[0]) {
		w.items = append(w.items, items[0])
	}
	all := strings.Join(w.reasons, "+")
	if slices.Contains(w.reasons, "") {
		all = ""
	}
	if header, err := utilnet.NewWarningHeader(299, all, refusal.More(w.more, w.items...)); err == nil {
		w.header.Add(warningHeader, header)
	}
}
