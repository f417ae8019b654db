// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"context"
	"net/http"
	"time"
)

const (
	maxFollowed = 24
	// Events within batchTime lead to a single rendering. The pause after a rendering is its duration times restAfter,
	// but at most shortRest after a rendering shorter than shortRest.
	batchTime  = 100 * time.Millisecond
	restAfter  = 4
	shortRest  = 500 * time.Millisecond
	heartbeat  = 20 * time.Second
	writeLimit = 10 * time.Second
)

// streamPage sends the live part of a page after each change, or the event "unfollowed" with a missing right.
func (s *site) streamPage(w http.ResponseWriter, r *http.Request, v *view, form string) {
	select {
	case s.followed <- struct{}{}:
		// A place for the time of the request: each open tab has a stream.
		defer func() { <-s.followed }()
	default:
		http.Error(w, "too many open pages: close some", http.StatusTooManyRequests)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	// A mark, not a queue: a thousand events of a cascade lead to one rendering.
	dirty := make(chan struct{}, 1)
	changed := func() {
		select {
		case dirty <- struct{}{}:
		default:
		}
	}
	sources := v.sources(s.reading, r)
	lacks, lacking := make([]*lack, len(sources)), make(chan func(), len(sources))
	for i := range sources {
		go func() {
			if l := sources[i].followList(ctx, s.reading, changed); l != nil {
				// The loop below sets lacks, so that it alone uses the slice.
				lacking <- func() { lacks[i] = l }
			}
		}()
	}
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	send := func(message []byte) error {
		_ = control.SetWriteDeadline(time.Now().Add(writeLimit)) // fails for a test's recorder
		if _, err := w.Write(message); err != nil {
			return err
		}
		return control.Flush()
	}
	err := send([]byte(": open\n\n"))

	// Until the browser disconnects, send signs of life, a missing right, or the live part after a change.
	for last := []byte(nil); err == nil && ctx.Err() == nil; {
		select {
		case <-ctx.Done():
		case <-time.After(heartbeat):
			err = send([]byte(": open\n\n")) // fails after the browser has disconnected
		case note := <-lacking:
			note()
			if l := findUnfollowed(sources, lacks); l != nil {
				err = send(append([]byte("event: unfollowed\n"), eventOf([]byte(l.Error()))...))
			}
		case <-dirty:
			wait(ctx, batchTime) // for the other events of the change
			select {
			case <-dirty:
			default:
			}
			began := time.Now()
			var part []byte
			// Most events of a busy zone change nothing that this page shows.
			if part, err = s.renderLive(r, v, form); err == nil && !bytes.Equal(part, last) {
				err, last = send(eventOf(part)), part
			}
			took := time.Since(began)
			if rest := restAfter * took; took > shortRest {
				wait(ctx, rest)
			} else {
				wait(ctx, min(rest, shortRest))
			}
		}
	}
}

func wait(ctx context.Context, pause time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}

func eventOf(text []byte) []byte {
	var event bytes.Buffer
	for line := range bytes.Lines(text) {
		event.WriteString("data: ")
		event.Write(bytes.TrimRight(line, "\r\n"))
		event.WriteString("\n")
	}
	event.WriteString("\n")
	return event.Bytes()
}
