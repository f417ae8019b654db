// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"io"
	"strings"

	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/pkg/client/plan"
	"kubi.zone/kubizone/pkg/kit/terminal"
)

// printPlan prints the plan in the format. Markdown is for the comment of a review, and has no fields of its own.
func printPlan(out io.Writer, r *plan.Plan, format *output.Format) error {
	if format.Is(output.Markdown) {
		_, err := io.WriteString(out, Markdown(r))
		return err
	}
	return format.Print(out, "Plan", r, func(text *output.Text) {
		for _, s := range r.Sections() {
			title := s.Title
			if s.Classes != "" {
				title += "; classes: " + s.Classes
			}
			if s.IsDiff {
				text.Line("%s", title)
			}
			for _, line := range s.Lines {
				text.Line("%s", line)
			}
			if s.Held != "" {
				text.Line("held: %s", s.Held)
			}
			if s.Left != "" {
				text.Line("leaves: %s", s.Left)
			}
		}
		text.Line("%s", r.Summary())
	})
}

// Markdown shows texts of tenants as code, without mention, link, heading or HTML.
func Markdown(r *plan.Plan) string {
	var b strings.Builder
	for _, s := range r.Sections() {
		var lines strings.Builder
		for _, line := range s.Lines {
			terminal.Fprintf(&lines, "%s\n", line)
		}
		// A code host colours the lines of a diff by their first character.
		language := map[bool]string{true: "diff", false: "text"}[s.IsDiff]
		b.WriteString("### " + output.Code(s.Title) + "\n\n" + output.CodeBlock(language, lines.String()))
		for _, fact := range [][2]string{{"Told", s.Classes}, {"**Held**", s.Held}, {"**Leaves**", s.Left}} {
			if fact[1] != "" {
				b.WriteString(fact[0] + ": " + output.Code(fact[1]) + "\n\n")
			}
		}
	}
	b.WriteString(r.Summary() + "\n")
	return b.String()
}
