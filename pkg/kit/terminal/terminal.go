// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const layout = "\n\t"

// Escape returns text as a line of printable characters.
func Escape(text string) string { return string(appendEscaped(nil, text, "")) }

func appendEscaped(to []byte, text, keep string) []byte {
	start, size := 0, 0
	for i := 0; i < len(text); i += size {
		if size = 1; text[i] >= ' ' && text[i] <= '~' || strings.IndexByte(keep, text[i]) >= 0 {
			continue
		}
		var r rune
		if r, size = utf8.DecodeRuneInString(text[i:]); unicode.IsPrint(r) && (r != utf8.RuneError || size > 1) {
			continue
		}
		to = append(to, text[start:i]...)
		start = i + size
		switch {
		case r == utf8.RuneError:
			to = fmt.Appendf(to, `\x%02x`, text[i])
		case strings.ContainsRune("\n\r\t", r):
			to = append(to, '\\', map[rune]byte{'\n': 'n', '\r': 'r', '\t': 't'}[r])
		default:
			for _, unit := range utf16.AppendRune(nil, r) {
				to = fmt.Appendf(to, `\u%04x`, unit)
			}
		}
	}
	return append(to, text[start:]...)
}

// Fprintf is fmt.Fprintf with escaped arguments. The format must not have "*".
func Fprintf(to io.Writer, format string, args ...any) (int, error) {
	args = slices.Clone(args) // the slice is the caller's
	for i, arg := range args {
		args[i] = escaped{arg}
	}
	return fmt.Fprintf(to, format, args...)
}

type escaped struct{ value any }

func (e escaped) Format(state fmt.State, verb rune) {
	_, _ = io.WriteString(state, Escape(fmt.Sprintf(fmt.FormatString(state, verb), e.value)))
}

// PrintError writes a failed program's name and error, each error of errors.Join on a line.
func PrintError(to io.Writer, program string, err error) {
	lines := listErrors(err)
	for i := range lines {
		lines[i] = Escape(lines[i])
	}
	_, _ = fmt.Fprintf(to, "%s: %s\n", program, strings.Join(lines, "\n"))
}

func listErrors(err error) (lines []string) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []string{err.Error()}
	}
	for _, one := range joined.Unwrap() {
		lines = append(lines, listErrors(one)...)
	}
	if strings.Join(lines, "\n") != err.Error() { // several errors wrapped with other words
		return []string{err.Error()}
	}
	return lines
}

// NewWriter returns an escaping writer that keeps lines and columns, safe for concurrent use.
func NewWriter(to io.Writer) io.Writer { return &writer{to: to} }

type writer struct {
	mu sync.Mutex
	to io.Writer
	// partial has a character's first octets, continued in the next Write.
	partial []byte
}

func (w *writer) Write(octets []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := append(w.partial, octets...)
	whole := len(text)
	for i := max(0, whole-utf8.UTFMax+1); i < len(text); i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			whole = i
			break
		}
	}
	w.partial = append([]byte(nil), text[whole:]...)
	if _, err := w.to.Write(appendEscaped(nil, string(text[:whole]), layout)); err != nil {
		return 0, err
	}
	return len(octets), nil
}

// Count returns the number with the noun in singular or plural, such as "1 zone", "2 zones" or "3 entries".
func Count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, endsInY := strings.CutSuffix(noun, "y"); endsInY {
		return fmt.Sprint(n, " ", stem, "ies")
	}
	return fmt.Sprint(n, " ", noun, "s")
}
