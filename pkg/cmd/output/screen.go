// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"kubi.zone/kubizone/pkg/terminal"
)

// Screen describes where text goes.
type Screen struct {
	// Width is a terminal's number of columns, or 0 for a pipe or a file.
	Width int
	// Height is a terminal's number of lines, or 0 if unknown.
	Height int
	Color  bool
}

// Writer escapes the text of tenants.
type Writer struct {
	io.Writer
	raw    io.Writer
	screen Screen
}

// NewWriter returns a writer to a file, or to a pipe. A Writer is returned unchanged.
func NewWriter(to io.Writer) *Writer {
	if already, ok := to.(*Writer); ok {
		return already
	}
	return NewScreenWriter(to, screenOf(to))
}

// NewScreenWriter returns a writer to a screen.
func NewScreenWriter(to io.Writer, screen Screen) *Writer {
	return &Writer{terminal.NewWriter(to), to, screen}
}

// NewRemarks returns a Writer whose lines are wrapped at a terminal's width.
func NewRemarks(to io.Writer) *Writer {
	w := *NewWriter(to)
	if w.screen.Width > 0 {
		w.Writer = &wrapper{w.Writer, w.screen.Width}
	}
	return &w
}

type wrapper struct {
	to    io.Writer
	width int
}

func (w *wrapper) Write(octets []byte) (int, error) {
	var wrapped strings.Builder
	for line := range strings.Lines(string(octets)) {
		text := strings.TrimSuffix(line, "\n")
		escaped := terminal.Escape(text)
		if strings.Contains(text, "\t") || utf8.RuneCountInString(escaped) <= w.width {
			wrapped.WriteString(line)
			continue
		}
		wrapped.WriteString(strings.Join(wrapText(escaped, w.width, "  "), "\n") + line[len(text):])
	}
	if _, err := io.WriteString(w.to, wrapped.String()); err != nil {
		return 0, err
	}
	return len(octets), nil
}

func screenOf(to io.Writer) Screen {
	if already, ok := to.(*Writer); ok {
		return already.screen
	}
	file, ok := to.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return Screen{}
	}
	width, height, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 {
		width, height = 80, 0
	}
	return Screen{Width: width, Height: max(0, height), Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func (w *Writer) refreshScreen() Screen {
	if _, ok := w.raw.(*os.File); ok {
		w.screen = screenOf(w.raw)
	}
	return w.screen
}

// IsTerminal reports whether a writer is a terminal.
func IsTerminal(to io.Writer) bool { return screenOf(to).Width > 0 }
