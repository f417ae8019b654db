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
	// maxBuffered bounds the octets that wait to be sent.
	maxBuffered = 64 << 10
	// stall bounds the time of one write: a stream has no deadline, but each of its writes has.
	stall = 30 * time.Second
)

// stream sends an answer piece by piece.
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

// deadlineWriter sets a deadline for each write to a client.
type deadlineWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
}

func (i *deadlineWriter) Write(piece []byte) (int, error) {
	// A writer without deadlines, such as a recorder in a test, is written without one.
	_ = i.control.SetWriteDeadline(time.Now().Add(i.stall))
	return i.w.Write(piece)
}

// list writes an object with one long list, item by item: the object without the list, then the items, then the
// metadata, which is known at the end. After an error it writes nothing more.
type list struct {
	*stream
	separator string
	err       error
}

// beginList writes the object without its list and without its metadata.
func beginList(w http.ResponseWriter, object any, key string) *list {
	l := &list{stream: newStream(w, v1alpha1.FormatJSON), separator: "\n"}
	var head []byte
	if head, l.err = json.Marshal(object); l.err == nil {
		_, l.err = l.Write(append(head[:len(head)-1], `,"`+key+`":[`...))
	}
	return l
}

// writeItem reports whether to go on.
func (l *list) writeItem(item any) bool {
	var text []byte
	if l.err == nil {
		text, l.err = json.Marshal(item)
	}
	if l.err == nil {
		_, _ = l.WriteString(l.separator) // the next write has the error, if any
		_, l.err = l.Write(text)
		l.separator = ",\n"
	}
	return l.err == nil
}

// finishList writes the metadata and flushes.
func (l *list) finishList(meta v1alpha1.ZoneViewMeta) error {
	text, err := json.Marshal(meta)
	if err := cmp.Or(l.err, err); err != nil {
		return err
	}
	_, _ = l.WriteString("\n],\"metadata\":" + string(text) + "}\n")
	return l.Flush()
}

// writeComment writes a comment line of a master file. Flush has the error, if any.
func (s *stream) writeComment(text string) {
	_, _ = s.WriteString("; " + strings.ReplaceAll(text, "\n", " ") + "\n")
}
