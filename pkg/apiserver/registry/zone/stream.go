// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"bufio"
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

const (
	maxBuffered = 64 << 10
	// stall bounds each write. The stream as a whole has no deadline.
	stall = 30 * time.Second
)

type stream struct {
	*bufio.Writer
	to *deadlineWriter
}

func newStream(w http.ResponseWriter, format string) *stream {
	w.Header().Set("Content-Type", mediaOf(format))
	w.Header().Set("Cache-Control", "no-cache, private")
	w.WriteHeader(http.StatusOK)
	to := &deadlineWriter{w, http.NewResponseController(w), stall}
	return &stream{bufio.NewWriterSize(to, maxBuffered), to}
}

type deadlineWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
}

func (i *deadlineWriter) Write(piece []byte) (int, error) {
	_ = i.control.SetWriteDeadline(time.Now().Add(i.stall))
	return i.w.Write(piece)
}

// list writes a list as JSON, item by item, so that the whole list is never in memory. Metadata comes last, because its
// continue token is known only then. After an error nothing more is written, so the client sees incomplete JSON.
type list struct {
	*stream
	separator string
	err       error
}

func beginList(w http.ResponseWriter, object any, key string) *list {
	l := &list{stream: newStream(w, v1alpha1.FormatJSON), separator: "\n"}
	var head []byte
	if head, l.err = json.Marshal(object); l.err == nil {
		_, l.err = l.Write(append(head[:len(head)-1], `,"`+key+`":[`...))
	}
	return l
}

// writeItem writes an item, and returns false after an error, so that the caller reads no further entries for a client
// that has gone.
func (l *list) writeItem(item any) bool {
	var text []byte
	if l.err == nil {
		text, l.err = json.Marshal(item)
	}
	if l.err == nil {
		_, _ = l.WriteString(l.separator) // the next write has the error
		_, l.err = l.Write(text)
		l.separator = ",\n"
	}
	return l.err == nil
}

func (l *list) finishList(meta v1alpha1.ZoneViewMeta) error {
	text, err := json.Marshal(meta)
	if err := cmp.Or(l.err, err); err != nil {
		return err
	}
	_, _ = l.WriteString("\n],\"metadata\":" + string(text) + "}\n")
	return l.Flush()
}

func (s *stream) writeComment(text string) {
	_, _ = s.WriteString("; " + strings.ReplaceAll(text, "\n", " ") + "\n")
}
