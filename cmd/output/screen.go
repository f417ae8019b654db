// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"io"
	"os"

	"golang.org/x/term"

	"kubi.zone/kubizone/pkg/kit/terminal"
)

// Screen describes the terminal, pipe or file that text is written to.
type Screen struct {
	// Width is the number of columns; 0 for a pipe or a file.
	Width int
	// Height is the number of lines; 0 if unknown.
	Height int
	Color  bool
}

// Writer escapes the text of tenants.
type Writer struct {
	io.Writer
	raw    io.Writer
	screen Screen
}

// NewWriter returns a Writer for a file or a pipe. If out is a Writer, NewWriter returns out.
func NewWriter(out io.Writer) *Writer {
	if already, ok := out.(*Writer); ok {
		return already
	}
	return NewScreenWriter(out, screenOf(out))
}

func NewScreenWriter(to io.Writer, screen Screen) *Writer {
	return &Writer{terminal.NewWriter(to), to, screen}
}

// screenOf returns the screen of a terminal, with 80 columns if the size is unknown, and the zero Screen for a pipe or
// file.
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
	// A user may have resized the terminal since the last page.
	if _, ok := w.raw.(*os.File); ok {
		w.screen = screenOf(w.raw)
	}
	return w.screen
}

func IsTerminal(to io.Writer) bool { return screenOf(to).Width > 0 }
