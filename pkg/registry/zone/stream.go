// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"bufio"
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
// metadata, which is known at the end.
type list struct {
	*stream
	count int
}

// beginList writes the object without its list and without its metadata.
func beginList(w http.ResponseWriter, object any, key string) (*list, error) {
	head, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	l := &list{stream: newStream(w, v1alpha1.FormatJSON)}
	_, err = l.Write(append(head[:len(head)-1], `,"`+key+`":[`...))
	return l, err
}

func (l *list) writeItem(item any) error {
	separator := "\n"
	if l.count > 0 {
		separator = ",\n"
	}
	l.count++
	if _, err := l.WriteString(separator); err != nil {
		return err
	}
	text, err := json.Marshal(item)
	if err != nil {
		return err
	}
	_, err = l.Write(text)
	return err
}

// finishList writes the metadata and flushes.
func (l *list) finishList(meta v1alpha1.ZoneViewMeta) error {
	text, err := json.Marshal(meta)
	if err != nil {
		return err
	}
	if _, err := l.WriteString("\n],\"metadata\":" + string(text) + "}\n"); err != nil {
		return err
	}
	return l.Flush()
}

// writeComment writes a comment line of a master file.
func (s *stream) writeComment(text string) error {
	if _, err := s.WriteString("; " + strings.ReplaceAll(text, "\n", " ") + "\n"); err != nil {
		return writeFailed{err}
	}
	return nil
}
