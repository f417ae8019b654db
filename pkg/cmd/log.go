// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"io"
	"regexp"
	"strings"
	"sync"
	"time"

	"kubi.zone/kubizone/pkg/terminal"
)

// logWriter indents all lines but the first: a line break in a tenant's text must not begin a line of the log.
type logWriter struct{ to io.Writer }

var beginning = regexp.MustCompile(`\n([^\t ])`)

func (w logWriter) Write(line []byte) (int, error) {
	_, err := w.to.Write(beginning.ReplaceAll(line, []byte("\n\t$1")))
	return len(line), err
}

// placeBurst bounds the warnings and errors of a line of code (a place) per placeInterval, as libraries log an error
// for each request of a client.
const (
	placeBurst    = 100
	placeInterval = 10 * time.Second
)

// placeLimit drops further lines of a place. Their number precedes the place's first line in the next interval.
type placeLimit struct {
	to     io.Writer
	mu     sync.Mutex
	places map[string]*place // by file and line of the call, so bounded
}

type place struct {
	since time.Time
	lines int
}

func newPlaceLimit(to io.Writer) *placeLimit { return &placeLimit{to: to, places: map[string]*place{}} }

// Write writes a line of klog.
func (l *placeLimit) Write(line []byte) (int, error) {
	header, _, _ := strings.Cut(string(line), "] ")
	at := header[strings.LastIndex(header, " ")+1:]
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.places[at]
	if now := time.Now(); p == nil || now.Sub(p.since) >= placeInterval {
		if p != nil && p.lines > placeBurst {
			if _, err := terminal.Fprintf(l.to, "%s] %d lines of this place are left out\n", header, p.lines-placeBurst); err != nil {
				return 0, err
			}
		}
		p = &place{since: now}
		l.places[at] = p
	}
	if p.lines++; p.lines > placeBurst {
		return len(line), nil
	}
	return l.to.Write(line)
}
