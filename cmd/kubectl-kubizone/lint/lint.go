// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"io"

	"github.com/spf13/cobra"

	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/cmd/program"
	"kubi.zone/kubizone/pkg/client/lint"
)

var ErrRefused = program.No("a server refuses the objects with errors above")

func NewCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "lint FILE...",
		Short: "judge manifests without a server",
		Long: `Judge the Zones, Records, Delegations, DNSClasses and UpdateKeys of manifests (.yaml, .yml, .json, directories of them, or -)
as a server does that has these objects and no others: errors and warnings in its words, about rules, conflicts and hosts of the zones
in the files too. Objects of other kinds are passed over. Of a zone that the files lack nothing is assumed but its name; kubectl
kubizone plan asks the server. The exit code is 1 for an error.`,
		Example: "  kubectl kubizone lint records.yaml zones/\n  kustomize build . | kubectl kubizone lint -",
		Args:    cobra.MinimumNArgs(1),
	}
	format := output.AddFormat(command)
	command.RunE = func(command *cobra.Command, files []string) error {
		return lintFiles(files, command.InOrStdin(), command.OutOrStdout(), format)
	}
	return command
}

func Results() map[string]any { return map[string]any{"LintReport": lint.Report{}} }

func lintFiles(files []string, in io.Reader, out io.Writer, format *output.Format) error {
	found, err := lint.JudgeFiles(files, in)
	if err != nil {
		return err
	}
	if err := format.Print(out, "LintReport", found, func(text *output.Text) {
		for _, f := range found.Findings {
			text.Line("%s", f)
		}
		text.Line("%s", found)
	}); err != nil {
		return err
	}
	if found.Refused > 0 {
		return ErrRefused
	}
	return nil
}
