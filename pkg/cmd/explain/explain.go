// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"kubi.zone/kubizone/docs"
	"kubi.zone/kubizone/pkg/cmd/output"
)

// NewCommand returns the sub-command.
func NewCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "explain [RULE...]",
		Short: "print the rules that messages cite",
		Long: `Prints the rules of docs/semantics.md that messages cite, with why they are and their examples: by number (S4.8 or 4.8),
of a whole section (S4), or without a number the first words of each.`,
		Example: "  kubectl kubizone explain S4.8\n  kubectl kubizone explain 2.5 S4",
		Args:    cobra.ArbitraryArgs,
	}
	format := output.AddFormat(command)
	command.RunE = func(command *cobra.Command, numbers []string) error {
		found, err := findRules(numbers)
		if err != nil {
			return err
		}
		return format.Print(command.OutOrStdout(), "Rules", found, found.printText)
	}
	return command
}

// Results are the results of the command by their kinds.
func Results() map[string]any { return map[string]any{"Rules": foundRules{}} }

type foundRules struct {
	Rules []foundRule `json:"rules"`
}

type foundRule struct {
	Number string `json:"number"`
	// Text is plain: the rule, why it is, and its examples.
	Text string `json:"text"`

	rule    rule
	inShort bool
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

// findRules returns the rules with the numbers, or without numbers all, of which the text shows the first words.
func findRules(numbers []string) (*foundRules, error) {
	rules, found := listRules(docs.Semantics), &foundRules{}
	if len(numbers) == 0 {
		found.addRules(rules, true)
	}
	for _, number := range numbers {
		if err := found.addNumber(rules, number); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (f *foundRules) addRules(rules []rule, inShort bool) {
	for _, r := range rules {
		text := make([]string, len(r.lines))
		for i, line := range r.lines {
			text[i] = plain(strings.TrimSpace(line))
		}
		f.Rules = append(f.Rules, foundRule{r.number, strings.Join(text, "\n"), r, inShort})
	}
}

func (f *foundRules) addNumber(rules []rule, number string) error {
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
			f.addRules([]rule{r}, false)
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
	f.addRules(section, true)
	return nil
}

func (f *foundRules) printText(text *output.Text) {
	for i, r := range f.Rules {
		if i > 0 && !r.inShort {
			text.Line("")
		}
		if r.inShort {
			text.Short(fmt.Sprintf("%-6s %s", r.Number, plain(r.rule.lines[0])))
		} else {
			r.rule.printRule(text)
		}
	}
}

func (r *rule) printRule(text *output.Text) {
	var rows [][]string
	for i, line := range r.lines {
		paragraph := plain(strings.TrimSpace(line))
		cells, isRow := strings.CutPrefix(paragraph, "|")
		if !isRow && rows != nil {
			text.Table(nil, rows)
			rows = nil
		}
		switch {
		case strings.HasPrefix(paragraph, "!"): // a picture
		case isRow && strings.Trim(cells, "-| ") == "": // the separator line
		case isRow:
			row := strings.Split(strings.Trim(cells, "| "), "|")
			for i := range row {
				row[i] = strings.TrimSpace(row[i])
			}
			rows = append(rows, row)
		case i == 0:
			lines := strings.Split(part.ReplaceAllString(line, "\n$1"), "\n")
			text.Paragraph(r.number+" "+plain(lines[0]), "  ")
			for _, line := range lines[1:] {
				text.Paragraph("  "+plain(line), "  ")
			}
		case strings.HasPrefix(paragraph, "- "):
			text.Paragraph("  "+paragraph, "    ")
		default:
			text.Paragraph("  "+paragraph, "  ")
		}
	}
	text.Table(nil, rows)
}
