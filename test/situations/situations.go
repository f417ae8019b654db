// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package situations

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"kubi.zone/kubizone/pkg/apis/refusal"
)

type Situation struct {
	Number, Title string
	Rules         []string
	// Story has the commands for the page's zone and the situation's own, in datadriven's form.
	Story  string
	Answer string
}

var (
	heading = regexp.MustCompile(`(?m)^## (\d+)\. (.+?) \(([^()]+)\)$`)
	block   = regexp.MustCompile("(?s)```story\n(.*?)```\n")
	cited   = regexp.MustCompile(`\b[NS](\d+\.\d+)\b`)
)

func Read(file string) (all []Situation, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	page := string(text)
	at := heading.FindAllStringSubmatchIndex(page, -1)
	if len(at) == 0 {
		return nil, fmt.Errorf("%s has no heading \"## 1. What happens (S4.8)\"", file)
	}
	zone := block.FindStringSubmatch(page[:at[0][0]])
	if zone == nil {
		return nil, fmt.Errorf("%s has no story of the zone above the first situation", file)
	}
	for i, m := range at {
		end := len(page)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		body := page[m[1]:end]
		s := Situation{Number: page[m[2]:m[3]], Title: page[m[4]:m[5]], Rules: cited.FindAllString(page[m[6]:m[7]], -1)}
		story := block.FindStringSubmatchIndex(body)
		if story == nil {
			return nil, fmt.Errorf("%s: situation %s has no story", file, s.Number)
		}
		s.Story = strings.TrimSpace(zone[1]) + "\n\n" + body[story[2]:story[3]]
		s.Answer = strings.TrimSpace(body[story[1]:])
		all = append(all, s)
	}
	return all, nil
}

// $1 is the reason.
var outcomes = []struct {
	answer *regexp.Regexp
	words  string
}{
	{regexp.MustCompile(`^(\d{3}) `), "refused $1"},
	{regexp.MustCompile(`^(?:stored, not adopted|in no zone|pending): (\w+)`), "waits, reason $1"},
	{regexp.MustCompile(`^gone\n`), "gone"},
	{regexp.MustCompile(`^(?:adopted|zone|(?:True )?Accepted|\S+ in|\S+ serial)\b`), "taken"},
	{regexp.MustCompile(`^(?:False )?(ZoneNotFound|LimitExceeded)\b`), "waits, reason $1"},
}

// Shorten reduces an answer to the page's words: the outcome, a refusal's first rule, the warnings' rules.
func Shorten(command, answer string) string {
	if command != "zone" && command != "record" && command != "delegation" && command != "delete" {
		return ""
	}
	text, warnings, _ := strings.Cut(answer, "\nwarning: ")
	text += "\n"
	words := ""
	for _, o := range outcomes {
		if m := o.answer.FindStringSubmatchIndex(text); m != nil {
			words = string(o.answer.ExpandString(nil, o.words, text, m))
			break
		}
	}
	switch {
	case words == "":
		return "not understood: " + answer
	case command == "delete" && words == "taken":
		words = "gone"
	case strings.HasPrefix(words, "refused"):
		if m := cited.FindStringSubmatch(text); m != nil {
			words += ", rule S" + m[1]
		}
	}
	if command == "record" {
		reported := map[string]bool{}
		for line := range strings.SplitSeq(warnings, "\nwarning: ") {
			if _, rule, _ := refusal.CutWarning(line); rule != "" && !reported[rule] && !strings.HasPrefix(words, "waits") {
				reported[rule] = true
				words += ", Warning by " + rule
			}
		}
	}
	return words + "\n"
}
