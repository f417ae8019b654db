// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kubi.zone/kubizone/cmd/kubeconfig"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/applier"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/console"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/doctor"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/explain"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/exporter"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/history"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/importer"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/lint"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/names"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/review"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/status"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/updatekey"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/verify"
	"kubi.zone/kubizone/cmd/program"
)

func New() *cobra.Command { return newProgram().Root }

// newProgram returns the program kubectl-kubizone with all of its commands.
func newProgram() *program.Program {
	p := program.New(&cobra.Command{
		Use:         "kubectl-kubizone",
		Short:       "ask about DNS names, and plan, write and check zones",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl kubizone"},
		Long: `Ask Kubizone about DNS names with the rights of your kubeconfig: list the names of a namespace, find the Records of
a name, and follow a Record to the name servers. Plan writes, import and export zone files, and verify answers of name servers.`,
	})
	p.Name = "error" // as kubectl
	p.Explain = kubeconfig.Explain
	p.Root.AddCommand([]*cobra.Command{
		importer.NewPlanCommand(),
		applier.NewCommand(),
		importer.NewCommand(),
		exporter.NewCommand(),
		lint.NewCommand(),
		review.NewCommand(),
		verify.NewCommand(),
		explain.NewCommand(),
		updatekey.NewCommand(),
		doctor.NewCommand(),
		status.NewCommand(),
		console.NewCommand(),
	}...)
	p.Root.AddCommand(names.NewCommands()...)
	p.Root.AddCommand(history.NewCommands()...)
	p.AddOptions(kubeconfig.NewOptions().AddFlagsWithNamespace)
	ignored := pflag.NewFlagSet("", pflag.ContinueOnError)
	kubeconfig.NewOptions().AddFlagsWithNamespace(ignored)
	addFlags(p.Root, ignored)
	return p
}

// addFlags gives every command those of the flags that it lacks, as explain lacks --kubeconfig, so that a script passes
// one set of flags to all.
func addFlags(command *cobra.Command, flags *pflag.FlagSet) {
	command.Flags().AddFlagSet(flags)
	for _, below := range command.Commands() {
		addFlags(below, flags)
	}
}

func Results() map[string]any {
	all := map[string]any{}
	for _, of := range []func() map[string]any{applier.Results, doctor.Results, explain.Results, history.Results,
		importer.Results, lint.Results, names.Results, status.Results, updatekey.Results, verify.Results} {
		maps.Copy(all, of())
	}
	return all
}

const completionName = "kubectl_complete-kubizone"

func complete(started string, arguments []string) []string {
	if strings.TrimSuffix(filepath.Base(started), ".exe") == completionName {
		return append([]string{cobra.ShellCompRequestCmd}, arguments...)
	}
	return arguments
}

func Main(arguments []string, out, stderr io.Writer) int {
	return newProgram().Main(complete(os.Args[0], arguments), out, stderr)
}
