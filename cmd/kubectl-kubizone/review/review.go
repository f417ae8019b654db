// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kubi.zone/kubizone/cmd/kubectl-kubizone/importer"
	"kubi.zone/kubizone/cmd/program"
	"kubi.zone/kubizone/pkg/client/lint"
)

type options struct {
	planner       *importer.Planner
	name          string
	withoutServer bool
	gate          gate
	getenv        func(string) string
}

func newOptions() *options {
	planner := importer.NewPlanner()
	planner.Local = true
	return &options{planner: planner, name: "dns", gate: gate{maxRemoved: 30}, getenv: os.Getenv}
}

func NewCommand() *cobra.Command {
	o := newOptions()
	command := &cobra.Command{
		Use:   "review -f FILE... | -k DIRECTORY",
		Short: "write the plan of a pull request into a comment",
		Long: `Judge the files as kubectl kubizone lint does, plan them as kubectl kubizone plan does, and print both as Markdown. In a job
of GitHub Actions or GitLab CI for a pull request, the text is there in one comment, which later runs change.

The exit code is 1 if a file is wrong, the server refuses a write, or the gate does: a Zone goes or leaves a class, other
namespaces lose names, or more than a share of a zone's RRsets, of ten or more, have fewer values. Of a fork, whose token may
not comment, the text is in the summary of the job alone.

KUBIZONE_REVIEW_TOKEN has the token, in GitHub Actions GITHUB_TOKEN too. It needs the right to write comments of pull requests. Use
artifacts/ci, which calls this command. A kustomization that names remote resources is refused: a review fetches nothing.`,
		Example: "  kubectl kubizone review -f dns/ --prune -l app.kubernetes.io/instance=dns",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return o.run(command.Context(), command.InOrStdin(), command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	o.addFlags(command.Flags())
	return command
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	o.planner.AddFlags(flags)
	flags.StringVar(&o.name, "name", o.name, "name of the comment, if several reviews of a pull request have one each")
	flags.BoolVar(&o.withoutServer, "without-server", false, "judge the files only, as in a job without a kubeconfig")
	flags.IntVar(&o.gate.maxRemoved, "max-removed", o.gate.maxRemoved,
		"percentage of a zone's RRsets of which the branch may remove values")
	flags.BoolVar(&o.gate.allowReleases, "allow-releases", false, "let other namespaces lose names")
	flags.BoolVar(&o.gate.allowZones, "allow-zone-removal", false, "let a Zone be removed, or leave a class")
}

var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// run judges the files, plans them at the server, prints the Markdown, and writes the comment. A refusal by files,
// server or gate is a "no" (exit code 1).
func (o *options) run(ctx context.Context, in io.Reader, out, progress io.Writer) error {
	switch {
	case !validName.MatchString(o.name):
		return fmt.Errorf("--name %q: write letters, digits and hyphens, at most 63", o.name)
	case o.gate.maxRemoved < 0 || o.gate.maxRemoved > 100:
		return fmt.Errorf("--max-removed %d: write 0 to 100", o.gate.maxRemoved)
	case o.withoutServer && len(o.planner.Files) == 0:
		return errors.New("--without-server judges the files of -f: name some")
	}
	r := &review{prunes: o.planner.Prunes()}
	var err error
	var again bytes.Buffer // the standard input, read twice for a file named -
	if files := o.planner.Files; len(files) > 0 {
		if r.lint, err = lint.JudgeFiles(files, io.TeeReader(in, &again)); err != nil {
			return err
		}
	}
	if !o.withoutServer {
		// The comment comes even if the plan fails, and says so.
		r.plan, r.planErr = o.planner.Plan(ctx, nil, &again, progress)
	}
	if r.plan != nil {
		r.reasons = o.gate.judgePlan(r.plan)
	}
	if _, err := io.WriteString(out, r.renderMarkdown()); err != nil {
		return err
	}
	if err := o.writeComment(ctx, r, progress); err != nil {
		return errors.Join(r.planErr, err)
	}
	switch {
	case r.planErr != nil:
		return r.planErr
	case r.isRefused():
		return program.No("the review refuses the branch: change it, or have a flag of kubectl kubizone review -h let it through")
	}
	return nil
}
