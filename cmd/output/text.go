// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"kubi.zone/kubizone/pkg/kit/terminal"
)

// Text collects lines and tables for a screen. All arguments are escaped.
type Text struct {
	screen Screen
	wide   bool
	built  strings.Builder
}

func (t *Text) IsWide() bool { return t.wide }

func NewText(to io.Writer) *Text { return &Text{screen: screenOf(to)} }

func (t *Text) WriteTo(to io.Writer) (int64, error) {
	if screened, ok := to.(*Writer); ok && t.screen.Color {
		to = screened.raw // every part is escaped
	}
	n, err := io.WriteString(to, t.built.String())
	return int64(n), err
}

const (
	green  = "\x1b[32m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

var colors = map[string]string{
	"+": green, "-": red, "~": yellow,
	"ok": green, "OK": green, "yes": green, "Current": green, "True": green,
	"FAILS": red, "FAIL": red, "CAUSE": red, "no": red, "error": red, "refused": red, "held": red, "Differs": red, "Failed": red,
	"False": red,
	"WARN":  yellow, "waits": yellow, "warning": yellow, "releases": yellow, "Behind": yellow, "Unknown": yellow, "?": yellow,
}

func (t *Text) paint(word, text string) string {
	color := colors[word]
	if color == "" || text == "" || !t.screen.Color {
		return text
	}
	return color + text + plain
}

// Line adds a line, wrapped to the screen's width. On a coloured screen, a line of a diff (+, -, ~) is coloured whole,
// any other line only at its first word, such as "error:".
func (t *Text) Line(format string, args ...any) {
	var line strings.Builder
	terminal.Fprintf(&line, format, args...)
	first, _, _ := strings.Cut(line.String(), " ")
	word := strings.TrimSuffix(first, ":")
	isDiff := len(word) == 1
	for i, part := range wrapText(line.String(), t.screen.Width, "  ") {
		beginsWithWord := i == 0 && strings.HasPrefix(part, first)
		switch {
		case isDiff:
			part = t.paint(word, part)
		case beginsWithWord:
			part = t.paint(word, first) + part[len(first):]
		}
		t.built.WriteString(part + "\n")
	}
}

func (t *Text) Bullet(format string, args ...any) {
	var line strings.Builder
	terminal.Fprintf(&line, format, args...)
	t.built.WriteString("- " + Code(line.String()) + "\n")
}

// Code returns text as inline code of Markdown, so that no mention, link or HTML in the text takes effect.
func Code(text string) string {
	text = terminal.Escape(text)
	fence := "`"
	// A fence longer than each run of backticks in the text.
	for strings.Contains(text, fence) {
		fence += "`"
	}
	hasBacktick := len(fence) > 1
	if hasBacktick || strings.TrimSpace(text) == "" {
		text = " " + text + " "
	}
	return fence + text + fence
}

func CodeBlock(language, lines string) string {
	fence := "```"
	for strings.Contains(lines, fence) {
		fence += "`"
	}
	return fence + language + "\n" + lines + fence + "\n\n"
}

// Markdown adds a table of Markdown. Cells are escaped, so that a "|" of a tenant begins no column.
func (t *Text) Markdown(header []string, rows [][]string) {
	rule := make([]string, len(header))
	for i := range rule {
		rule[i] = "---"
	}
	for _, row := range slices.Insert(slices.Clone(rows), 0, header, rule) {
		t.built.WriteString("|")
		for _, cell := range row {
			t.built.WriteString(" " + strings.ReplaceAll(terminal.Escape(cell), "|", "\\|") + " |")
		}
		t.built.WriteString("\n")
	}
	t.built.WriteString("\n")
}

// Command adds a command line, broken so that a shell joins the parts.
func (t *Text) Command(line string) {
	lines := wrapText(terminal.Escape(line), max(0, t.screen.Width-len(joins)), "    ")
	t.built.WriteString(strings.Join(lines, joins+"\n") + "\n")
}

const joins = " \\"

const helpWidth = 100

// Paragraph adds a text, wrapped even in a pipe. Later lines begin with indent.
func (t *Text) Paragraph(text, indent string) {
	for _, line := range wrapText(terminal.Escape(text), t.paragraphWidth(), indent) {
		t.built.WriteString(line + "\n")
	}
}

func (t *Text) Short(text string) {
	if runes, width := []rune(text), t.paragraphWidth(); len(runes) > width {
		text = string(runes[:width-1]) + "…"
	}
	t.built.WriteString(terminal.Escape(text) + "\n")
}

func (t *Text) paragraphWidth() int {
	if t.screen.Width > 0 {
		return min(helpWidth, t.screen.Width)
	}
	return helpWidth
}

// Table adds rows in columns, below their header, which may be nil.
func (t *Text) Table(header []string, rows [][]string) {
	lines := make([][]string, 0, len(rows)+1)
	if header != nil {
		lines = append(lines, header)
	}
	for _, row := range rows {
		escaped := make([]string, len(row))
		for i, cell := range row {
			escaped[i] = terminal.Escape(cell)
		}
		lines = append(lines, escaped)
	}
	widths := fitColumns(lines, t.screen.Width)
	for _, row := range lines {
		t.addRow(row, widths)
	}
}

const gap = "  "

// addRow adds a row, with as many lines as its highest cell. Each line ends with its last text, so a terminal does not
// wrap padding.
func (t *Text) addRow(row []string, widths []int) {
	cells := make([][]string, len(row))
	height := 1
	for i, cell := range row {
		cells[i] = wrapText(cell, widths[i], "")
		height = max(height, len(cells[i]))
	}
	for n := range height {
		var line strings.Builder
		padding := 0
		for i, cell := range cells {
			part := ""
			if n < len(cell) {
				part = cell[n]
			}
			if part != "" {
				line.WriteString(strings.Repeat(" ", padding) + t.paint(strings.TrimSpace(part), part))
				padding = 0
			}
			padding += widths[i] - utf8.RuneCountInString(part) + len(gap)
		}
		t.built.WriteString(line.String() + "\n")
	}
}

const leastColumn = 8

// fitColumns returns the width of each column. If they exceed the screen (0 for none), the widest columns shrink, down
// to leastColumn each.
func fitColumns(rows [][]string, width int) (widths []int) {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	total := len(gap) * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for width > 0 && total > width {
		widest := 0
		for i := range widths {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		// Narrower columns are no use, so the terminal wraps the row.
		if widths[widest] <= leastColumn {
			break
		}
		widths[widest]--
		total--
	}
	return widths
}

// wrapText breaks a text at spaces into lines of at most width characters, 0 for no limit. Later lines begin with
// indent. A longer word is cut.
func wrapText(text string, width int, indent string) (lines []string) {
	for width > len(indent) && utf8.RuneCountInString(text) > width {
		runes := []rune(text)
		end := width
		for end > 0 && runes[end] != ' ' {
			end--
		}
		// No space to break at, as in a key in base64.
		if strings.TrimSpace(string(runes[:end])) == "" {
			end = width
		}
		lines = append(lines, strings.TrimRight(string(runes[:end]), " "))
		text = indent + strings.TrimLeft(string(runes[end:]), " ")
	}
	return append(lines, strings.TrimRight(text, " "))
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

// Write wraps each line at the width. Lines with tabs are tables of kubectl, and stay whole.
func (w *wrapper) Write(octets []byte) (int, error) {
	var wrapped strings.Builder
	for line := range strings.Lines(string(octets)) {
		text := strings.TrimSuffix(line, "\n")
		escaped := terminal.Escape(text)
		isTable := strings.Contains(text, "\t")
		if isTable || utf8.RuneCountInString(escaped) <= w.width {
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
