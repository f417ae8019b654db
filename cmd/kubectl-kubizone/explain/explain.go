// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/cmd/program"
	"kubi.zone/kubizone/docs"
	"kubi.zone/kubizone/pkg/apis/reasons"
)

func NewCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "explain [RULE|REASON|ALERT...]",
		Short: "print rules that messages cite, reasons of conditions and Events, and alerts",
		Long: `Prints the rules of docs/semantics.md that messages cite, with why they are and their examples: by number (S4.8 or 4.8),
of a whole section (S4), or without an argument the first words of each. Of a reason of a condition, a Warning or an Event
(NameHeld): what it means, who can mend it, the next step, and its rules. Of an alert (KubizoneDeliveryLate): its section of
docs/operations.md.`,
		Example: "  kubectl kubizone explain S4.8\n  kubectl kubizone explain 2.5 S4\n" +
			"  kubectl kubizone explain NameHeld KubizoneDeliveryLate",
		Args: cobra.ArbitraryArgs,
	}
	format := output.AddFormat(command)
	command.RunE = func(command *cobra.Command, numbers []string) error {
		found, err := findAll(numbers)
		if err != nil {
			return err
		}
		return format.Print(command.OutOrStdout(), "Rules", found, found.printText)
	}
	command.ValidArgsFunction = cobra.FixedCompletions(listNames(), cobra.ShellCompDirectiveNoFileComp)
	return command
}

func Results() map[string]any { return map[string]any{"Rules": foundRules{}} }

type foundRules struct {
	Rules   []foundRule           `json:"rules"`
	Reasons []reasons.Explanation `json:"reasons,omitempty"`
	Alerts  []foundAlert          `json:"alerts,omitempty"`
}

type foundAlert struct {
	Alert string `json:"alert"`
	Text  string `json:"text"`
	Page  string `json:"page"`
}

type foundRule struct {
	Number string `json:"number"`
	Text   string `json:"text"` // a line for each paragraph, item of a list and row of a table

	inShort bool
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

// listRules returns the rules in the text of docs/semantics.md. A rule is a list item that begins with its number, up
// to the next rule or heading.
func listRules(page string) (rules []foundRule) {
	inside := false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		switch m := ruleLine.FindStringSubmatch(line); {
		case m != nil:
			inside = true
			rules = append(rules, foundRule{Number: m[1], Text: plain(part.ReplaceAllString(m[2], "\n$1"))})
		case strings.HasPrefix(line, "#"):
			inside = false
		// A table or list below a rule belongs to the rule.
		case inside && line != "":
			rules[len(rules)-1].Text += "\n" + plain(line)
		}
	}
	return rules
}

var alertSection = regexp.MustCompile(`(?m)^### (Kubizone\w+)\n((?:[^#\n].*\n|\n)+)`)

func listAlerts() (all []foundAlert) {
	for _, m := range alertSection.FindAllStringSubmatch(docs.Operations, -1) {
		all = append(all, foundAlert{m[1], plain(strings.TrimSpace(m[2])), "docs/operations.md#" + strings.ToLower(m[1])})
	}
	return all
}

// findAll returns the rules, reasons and alerts of the arguments, or all rules in short without arguments. An unknown
// argument is an error.
func findAll(arguments []string) (*foundRules, error) {
	rules, found := listRules(docs.Semantics), &foundRules{Rules: []foundRule{}}
	if len(arguments) == 0 {
		found.addRules(rules)
	}
	for _, number := range arguments {
		// A reason may be of several kinds of objects, with a meaning for each.
		if of := reasons.Find(number); len(of) > 0 {
			found.Reasons = append(found.Reasons, of...)
			continue
		}
		alerts := listAlerts()
		if n := slices.IndexFunc(alerts, func(a foundAlert) bool { return strings.EqualFold(a.Alert, number) }); n >= 0 {
			found.Alerts = append(found.Alerts, alerts[n])
			continue
		}
		if err := found.addNumber(rules, number); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (f *foundRules) addRules(rules []foundRule) {
	for _, r := range rules {
		r.inShort = true
		f.Rules = append(f.Rules, r)
	}
}

// addNumber adds the rule of a number such as "4.8", or the rules of a section such as "S4" in short. An unknown number
// is an error with the numbers near.
func (f *foundRules) addNumber(rules []foundRule, number string) error {
	m := asked.FindStringSubmatch(number)
	if m == nil {
		return fmt.Errorf("%q is no number of a rule, such as S4.8, no section, such as S4, no reason, such as NameHeld, and no alert;%s "+
			"kubectl kubizone explain lists the rules", number, program.DidYouMean(number, listNames()))
	}
	var section []foundRule
	var near []string
	for _, r := range rules {
		switch {
		case r.Number == "S"+m[1]+m[2]:
			f.Rules = append(f.Rules, r)
			return nil
		case strings.HasPrefix(r.Number, "S"+m[1]+"."):
			section, near = append(section, r), append(near, r.Number)
		}
	}
	switch {
	case len(section) == 0:
		return fmt.Errorf("no rule has the number %s: the first is %s, the last %s (kubectl kubizone explain lists all)", number,
			rules[0].Number, rules[len(rules)-1].Number)
	case m[2] != "":
		return fmt.Errorf("no rule has the number %s: this section has %s", number, strings.Join(near, ", "))
	}
	f.addRules(section)
	return nil
}

func listNames() (names []string) {
	for _, one := range reasons.All() {
		names = append(names, one.Reason)
	}
	for _, one := range listAlerts() {
		names = append(names, one.Alert)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

var mends = map[reasons.Role]string{reasons.None: "nobody has to", reasons.You: "you, who write the object",
	reasons.ZoneOwner: "the zone's owner", reasons.Platform: "the platform"}

// printText prints reasons, alerts and rules as pages, then the rules in short, a line each.
func (f *foundRules) printText(text *output.Text) {
	for i, page := range f.listPages() {
		if i > 0 {
			text.Line("")
		}
		printPage(text, page)
	}
	for _, one := range f.Rules {
		if first, _, _ := strings.Cut(one.Text, "\n"); one.inShort {
			text.Short(fmt.Sprintf("%-6s %s", one.Number, first))
		}
	}
}

func (f *foundRules) listPages() (pages []string) {
	for i := range f.Reasons {
		one := &f.Reasons[i]
		page := fmt.Sprintf("%s (%s): %s\nWho mends it: %s\nNext step: %s", one.Reason, one.Of, one.Meaning, mends[one.Mends], one.Step)
		if len(one.Rules) > 0 {
			page += "\nRules: " + strings.Join(one.Rules, ", ")
		}
		pages = append(pages, page)
	}
	for _, one := range f.Alerts {
		pages = append(pages, one.Alert+": "+one.Page+"\n"+one.Text)
	}
	for _, one := range f.Rules {
		if !one.inShort {
			pages = append(pages, one.Number+" "+one.Text)
		}
	}
	return pages
}

// printPage prints a page, wrapped, without pictures and the rules of tables.
func printPage(text *output.Text, page string) {
	begin := ""
	for line := range strings.SplitSeq(page, "\n") {
		// A terminal shows neither images nor the line below the header of a table.
		isPicture, isRule := strings.HasPrefix(line, "!"), strings.Trim(line, "|- ") == ""
		if isPicture || isRule {
			continue
		}
		indent := "  "
		if strings.HasPrefix(line, "- ") {
			indent = "    "
		}
		text.Paragraph(begin+line, indent)
		begin = "  "
	}
}
