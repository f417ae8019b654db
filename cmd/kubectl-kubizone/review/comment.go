// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"kubi.zone/kubizone/cmd/kubectl-kubizone/importer"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/pkg/client/lint"
	"kubi.zone/kubizone/pkg/client/plan"
	"kubi.zone/kubizone/pkg/kit/terminal"
)

// review is the input of a comment.
type review struct {
	lint    *lint.Report
	plan    *plan.Plan // nil without a server, incomplete with planErr
	planErr error
	reasons []string
	prunes  bool
}

func (r *review) isRefused() bool {
	return len(r.reasons) > 0 || r.lint != nil && r.lint.Refused > 0 || r.plan != nil && r.plan.Counts.Incomplete() != ""
}

// renderMarkdown returns the comment: the verdict, reasons of the gate, findings in the files, then the plan.
func (r *review) renderMarkdown() string {
	var b strings.Builder
	b.WriteString("## DNS\n\n")
	switch {
	case r.planErr != nil:
		b.WriteString("**The plan failed**: the log of the job says why.\n\n") // an error may have addresses
	case r.isRefused():
		b.WriteString("**Refused.**\n\n")
	case r.plan == nil:
		b.WriteString("**Files alone**: without a kubeconfig there is no plan, and neither releases nor removals are judged.\n\n")
	}
	// Without a label, a plan cannot tell a removed manifest from an object of another source.
	if r.plan != nil && !r.prunes {
		b.WriteString("Removals are not judged: without a label (`--prune -l`) the plan keeps objects that the files lack.\n\n")
	}
	for _, reason := range r.reasons {
		b.WriteString("- " + output.Code(reason) + "\n")
	}
	if len(r.reasons) > 0 {
		b.WriteString("\n")
	}
	if r.lint != nil && len(r.lint.Findings) > 0 {
		var lines strings.Builder
		for _, f := range r.lint.Findings {
			terminal.Fprintf(&lines, "%s\n", f)
		}
		b.WriteString("### Files\n\n" + output.CodeBlock("text", lines.String()))
	}
	if r.lint != nil {
		b.WriteString(r.lint.String() + "\n\n")
	}
	if r.plan != nil {
		b.WriteString(importer.Markdown(r.plan))
	}
	return b.String()
}

// cutBody returns the body with at most so many octets, cut after a line, with a note. An open code block is closed, so
// that its rest is no Markdown.
func cutBody(body string, most int) string {
	const note = "\nThe rest is in the log of the job.\n"
	if len(body) <= most {
		return body
	}
	fence := ""
	var b strings.Builder
	for line := range strings.Lines(body) {
		next := fence
		if ticks := strings.TrimRight(line, "\n"); strings.HasPrefix(ticks, "```") {
			ticks = ticks[:len(ticks)-len(strings.TrimLeft(ticks, "`"))]
			// A block ends with the same fence of backticks, and a longer fence holds shorter fences.
			if fence == "" {
				next = ticks
			} else if strings.TrimRight(line, "\n") == fence {
				next = ""
			}
		}
		// Room for the end of the block, and for the note.
		if b.Len()+len(line)+len(next)+1+len(note) > most {
			break
		}
		b.WriteString(line)
		fence = next
	}
	if fence != "" {
		b.WriteString(fence + "\n")
	}
	return b.String() + note
}

// writeComment writes the comment of the pull request. Outside of a job of a pull request nothing happens. If the
// comment fails, the summary of the job has the text, and a fork's missing right is no error.
func (o *options) writeComment(ctx context.Context, r *review, progress io.Writer) error {
	at, err := findPullRequest(o.getenv)
	if at == nil || err != nil {
		return err
	}
	marker := "<!-- kubizone review " + o.name + " -->\n"
	body := cutBody(marker+r.renderMarkdown(), at.maxComment)
	err = putComment(ctx, newClient(at), strings.TrimSpace(marker), body)
	if err == nil {
		return nil
	}
	if summary := o.getenv("GITHUB_STEP_SUMMARY"); summary != "" {
		err = errors.Join(err, os.WriteFile(summary, []byte(cutBody(r.renderMarkdown(), maxSummary)), 0o600))
	}
	var denied *deniedError
	if at.fork && errors.As(err, &denied) {
		_, err = terminal.Fprintf(progress, "no comment: %s; the pull request is of a fork, whose token may not write\n", denied)
	}
	return err
}

// maxSummary is in octets: GitHub Actions takes 1 MiB.
const maxSummary = 1000 << 10

// putComment changes the comment with the marker, or adds a comment if there is none. An equal comment stays as it is.
func putComment(ctx context.Context, c *client, marker, body string) error {
	own, err := c.findAuthor(ctx)
	if err != nil {
		return err
	}
	for page := 1; page <= maxPages; page++ {
		comments, err := c.listComments(ctx, page)
		if err != nil {
			return err
		}
		for _, one := range comments {
			// Another author could copy the marker: a comment needs the own author too.
			if first, _, _ := strings.Cut(one.body, "\n"); strings.TrimSpace(first) == marker && own(one) {
				if one.body == body {
					return nil
				}
				return c.changeComment(ctx, one.id, body)
			}
		}
		if len(comments) < perPage {
			break
		}
	}
	return c.addComment(ctx, body)
}

func (p *pullRequest) describe() string { return fmt.Sprintf("%s of %s", p.number, p.repository) }
