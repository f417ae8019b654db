// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zonefile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	// maxLine limits a record with its continuation lines, in bytes. The largest rdata fits as \DDD, with the rest.
	maxLine   = 300 << 10
	maxReread = 100
)

// lines reads a master file (RFC 1035 §5) as logical lines: a record that continues within parentheses becomes a single
// line. Comments are removed, and blanks replace parentheses and the newlines between them. Quotes and escapes stay.
type lines struct {
	reader *bufio.Reader
	// number is the number of the last physical line, from 1.
	number int
	// pending contains physical lines to read again, in order. After an error, such as an unclosed parenthesis, all
	// lines of the record but the first are read again, and rereads counts such errors.
	pending []string
	rereads int
	// err is the last error of reader, io.EOF at the end.
	err     error
	logical []byte
}

func newLines(r io.Reader) *lines {
	return &lines{reader: bufio.NewReaderSize(r, 64<<10)}
}

// readPhysical returns the next line without its end, or false at the end of the file or after an error of the reader.
// Of a line that is too long, more than maxLine bytes are kept, so that readLogical rejects the line.
func (l *lines) readPhysical() (string, bool) {
	if len(l.pending) > 0 {
		text := l.pending[0]
		l.pending = l.pending[1:]
		l.number++
		return text, true
	}
	if l.err != nil {
		return "", false
	}

	// A long line comes in parts of the buffer's size.
	var long []byte
	for {
		part, err := l.reader.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if len(long) <= maxLine {
				long = append(long, part...)
			}
			continue
		}
		if err != nil {
			l.err = err
			if len(part) == 0 && len(long) == 0 {
				return "", false
			}
		}
		if long != nil {
			part = append(long, part...)
		}
		if l.number++; l.number == 1 {
			// Editors of Windows begin a file with a byte order mark.
			part = bytes.TrimPrefix(part, []byte("\ufeff"))
		}
		return string(bytes.TrimRight(part, "\r\n")), true
	}
}

func (l *lines) readNext() (text string, number int, err error) {
	for {
		first, ok := l.readPhysical()
		if !ok {
			return "", l.number, io.EOF
		}
		number = l.number
		text, err = l.readLogical(first)
		// The caller shows the first line of the record.
		if err != nil {
			return first, number, err
		}
		if strings.Trim(text, " \t") != "" {
			return text, number, nil
		}
	}
}

// readLogical returns the logical line that begins with first, and reads the lines that follow within parentheses. An
// error is for this record alone: reread queues the lines that follow.
func (l *lines) readLogical(first string) (string, error) {
	if len(first) > maxLine {
		return "", fmt.Errorf("a line of more than %d bytes; break it with parentheses or split the record", maxLine)
	}
	// Most lines need no work.
	if !strings.ContainsAny(first, "\"();\\") {
		return first, nil
	}
	l.logical = l.logical[:0]
	var (
		depth     int
		following []string
	)
	for text := first; ; {
		var err error
		if depth, err = l.stripComment(text, depth); err != nil {
			return "", l.reread(following, err)
		}
		if depth == 0 {
			return string(l.logical), nil
		}
		l.logical = append(l.logical, ' ')
		next, ok := l.readPhysical()
		if !ok || len(l.logical) > maxLine {
			if ok {
				following = append(following, next)
			}
			return "", l.reread(following, errors.New("a parenthesis is not closed; end the record with )"))
		}
		following = append(following, next)
		text = next
	}
}

// reread queues the lines after a bad line to be read again, because a superfluous parenthesis must not swallow them.
func (l *lines) reread(following []string, err error) error {
	if l.rereads++; len(following) == 0 || l.rereads > maxReread {
		return err
	}
	l.pending = append(following, l.pending...)
	l.number -= len(following)
	return err
}

// stripComment appends a physical line without the comment to the logical line. The parameter depth is the number of
// open parentheses before the text, and the result is the number after the text. Parentheses nest as in BIND, unlike in
// RFC 1035.
func (l *lines) stripComment(text string, depth int) (int, error) {
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\':
			l.logical = append(l.logical, c)
			i++
			if i == len(text) {
				return depth, errors.New("a backslash ends the line; write \\\\ for a backslash")
			}
			c = text[i]
		case c == '"':
			quoted = !quoted
		case quoted: // not special
		case c == ';':
			return depth, nil
		case c == '(':
			depth++
			c = ' '
		// The blank keeps the fields on both sides apart.
		case c == ')':
			if depth == 0 {
				return depth, errors.New("a closing parenthesis without an opening one; remove it or quote it")
			}
			depth--
			c = ' '
		}
		l.logical = append(l.logical, c)
	}
	if quoted {
		return depth, errors.New("a quoted string is not closed on its line; close it, and write \\010 for a newline in it")
	}
	return depth, nil
}

// cutField returns the first field of text, and the rest without blanks before it. An escaped blank is part of a field.
func cutField(text string) (field, rest string) {
	text = strings.TrimLeft(text, " \t")
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case ' ', '\t':
			return text[:i], strings.TrimLeft(text[i:], " \t")
		}
	}
	return text, ""
}
