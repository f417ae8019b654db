// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"kubi.zone/kubizone/cmd/bind-agent/bindagent"
	apiservercmd "kubi.zone/kubizone/cmd/kubizone/apiserver"
	"kubi.zone/kubizone/cmd/kubizone/backup"
	"kubi.zone/kubizone/cmd/kubizone/controller"
	externaldnscmd "kubi.zone/kubizone/cmd/kubizone/externaldns"
	fleetcmd "kubi.zone/kubizone/cmd/kubizone/fleet"
	"kubi.zone/kubizone/cmd/kubizone/fsck"
	"kubi.zone/kubizone/cmd/kubizone/peercert"
	primarycmd "kubi.zone/kubizone/cmd/kubizone/primary"
	"kubi.zone/kubizone/cmd/kubizone/replacemember"
	"kubi.zone/kubizone/cmd/kubizone/restore"
	"kubi.zone/kubizone/cmd/kubizone/up"
	"kubi.zone/kubizone/cmd/program"
)

func New() *cobra.Command { return newProgram().Root }

func newProgram() *program.Program {
	p := program.New(&cobra.Command{
		Use:   "kubizone",
		Short: "DNS as a native Kubernetes API: servers and store",
		Long: `DNS as a native Kubernetes API: zones and records are objects, a zone's serial and hash change in the transaction that
changes a record, and secondaries get NOTIFY within a second. This program has the servers and the tools of the store; kubectl
kubizone asks, plans, imports and verifies.`,
	}, "k8s.io/apiserver", "go.etcd.io/etcd/server/v3")
	p.AddLoggingFormat()
	p.Root.AddCommand([]*cobra.Command{
		up.NewCommand(p.Verbosity()),
		apiservercmd.NewCommand(),
		primarycmd.NewCommand(),
		controller.NewCommand(),
		fleetcmd.NewCommand(),
		externaldnscmd.NewCommand(),
		bindagent.NewCommand(),
		fsck.NewCommand(),
		backup.NewCommand(),
		restore.NewCommand(),
		replacemember.NewCommand(),
		peercert.NewCommand(),
	}...)
	for _, word := range clientWords {
		p.Root.AddCommand(redirectWord(word))
	}
	return p
}

// clientWords are commands of kubectl-kubizone, not linked here.
var clientWords = []string{"apply", "blame", "console", "diff", "doctor", "explain", "export", "import", "lint", "log", "may", "names",
	"plan", "revert", "review", "show", "status", "tree", "updatekey", "verify", "who", "why"}

// redirectWord returns a hidden command for a word of the client, whose error has the line to type.
func redirectWord(word string) *cobra.Command {
	return &cobra.Command{
		Use:    word + " ...",
		Short:  "is a command of kubectl kubizone",
		Hidden: true,
		// Flags are the client's.
		DisableFlagParsing: true,
		Args:               cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, arguments []string) error {
			line := "kubectl kubizone " + word
			for _, argument := range arguments {
				line += " " + quote(argument)
			}
			return fmt.Errorf("%s is a command of the client; type: %s", word, line)
		},
	}
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_./:@=,%+-]+$`)

func quote(argument string) string {
	if plain.MatchString(argument) {
		return argument
	}
	return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
}

func Main(arguments []string, out, stderr io.Writer) int {
	return newProgram().Main(arguments, out, stderr)
}
