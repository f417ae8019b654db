// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"kubi.zone/kubizone/docs"
	"kubi.zone/kubizone/pkg/terminal"
)

const width = 100

// NewCommand returns the sub-command.
func NewCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [RULE...]",
		Short: "Print the rules that messages cite",
		Long: `Prints the rules of docs/semantics.md that messages cite, with why they are and their examples: by number (S4.8 or 4.8),
of a whole section (S4), or without a number the first words of each.`,
		Example: "  kubectl kubizone explain S4.8\n  kubectl kubizone explain 2.5 S4",
		Args:    cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, numbers []string) error {
			return Run(numbers, command.OutOrStdout())
		},
	}
}

type rule struct {
	number string   // S4.8
	lines  []string // Markdown; the first line is without the number
}

var (
	ruleLine = regexp.MustCompile(`^- (S\d+\.\d+) (.*)$`)
	asked    = regexp.MustCompile(`^[sS]?(\d+)(\.\d+)?$`)
	part     = regexp.MustCompile(`\*(Why:|E\.g\.)\*`)
	link     = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

func plain(text string) string {
	parts := strings.Split(link.ReplaceAllString(text, "$1"), "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.ReplaceAll(parts[i], "*", "")
	}
	return strings.Join(parts, "")
}

func listRules(page string) (rules []rule) {
	inside := false
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		switch m := ruleLine.FindStringSubmatch(line); {
		case m != nil:
			inside = true
			rules = append(rules, rule{m[1], []string{m[2]}})
		case strings.HasPrefix(line, "#"):
			inside = false
		case inside && line != "":
			last := &rules[len(rules)-1]
			last.lines = append(last.lines, line)
		}
	}
	return rules
}

// Run prints the numbered rules, or without numbers the first words of each rule.
func Run(numbers []string, out io.Writer) error {
	rules := listRules(docs.Semantics)
	if len(numbers) == 0 {
		printFirstWords(rules, out)
	}
	for i, number := range numbers {
		if i > 0 {
			terminal.Fprintf(out, "\n")
		}
		if err := printRules(rules, number, out); err != nil {
			return err
		}
	}
	return nil
}

func printRules(rules []rule, number string, out io.Writer) error {
	m := asked.FindStringSubmatch(number)
	if m == nil {
		return fmt.Errorf("%q is no number of a rule, such as S4.8, and no section, such as S4 (kubectl kubizone explain lists all)",
			number)
	}
	var section []rule
	var near []string
	for _, r := range rules {
		switch {
		case r.number == "S"+m[1]+m[2]:
			r.printRule(out)
			return nil
		case strings.HasPrefix(r.number, "S"+m[1]+"."):
			section, near = append(section, r), append(near, r.number)
		}
	}
	switch {
	case len(section) == 0:
		return fmt.Errorf("no rule has the number %s: the first is %s, the last %s (kubectl kubizone explain lists all)", number,
			rules[0].number, rules[len(rules)-1].number)
	case m[2] != "":
		return fmt.Errorf("no rule has the number %s: this section has %s", number, strings.Join(near, ", "))
	}
	printFirstWords(section, out)
	return nil
}

func printFirstWords(rules []rule, out io.Writer) {
	for _, r := range rules {
		text := fmt.Sprintf("%-6s %s", r.number, plain(r.lines[0]))
		if runes := []rune(text); len(runes) > width {
			text = string(runes[:width-1]) + "…"
		}
		terminal.Fprintf(out, "%s\n", text)
	}
}

func (r *rule) printRule(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i, line := range r.lines {
		text := plain(strings.TrimSpace(line))
		cells, isRow := strings.CutPrefix(text, "|")
		switch {
		case strings.HasPrefix(text, "!"): // a picture
		case isRow && strings.Trim(cells, "-| ") == "": // the separator line
		case isRow:
			_, _ = io.WriteString(table, " "+strings.ReplaceAll(strings.Trim(cells, "| "), "|", "\t")+"\n")
		case i == 0:
			lines := strings.Split(part.ReplaceAllString(line, "\n$1"), "\n")
			printWrapped(out, r.number+" ", "  ", plain(lines[0]))
			for _, line := range lines[1:] {
				printWrapped(out, "  ", "  ", plain(line))
			}
		case strings.HasPrefix(text, "- "):
			printWrapped(out, "  - ", "    ", text[2:])
		default:
			printWrapped(out, "  ", "  ", text)
		}
	}
	_ = table.Flush()
}

func printWrapped(out io.Writer, first, rest, text string) {
	line, words := first, 0
	for word := range strings.FieldsSeq(text) {
		if words > 0 && len([]rune(line))+1+len([]rune(word)) > width {
			terminal.Fprintf(out, "%s\n", line)
			line, words = rest, 0
		}
		if words++; words > 1 {
			line += " "
		}
		line += word
	}
	terminal.Fprintf(out, "%s\n", line)
}
