// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/cmd/adoptcluster"
	apiservercmd "kubi.zone/kubizone/pkg/cmd/apiserver"
	"kubi.zone/kubizone/pkg/cmd/backup"
	"kubi.zone/kubizone/pkg/cmd/controller"
	"kubi.zone/kubizone/pkg/cmd/doctor"
	"kubi.zone/kubizone/pkg/cmd/exporter"
	"kubi.zone/kubizone/pkg/cmd/fsck"
	"kubi.zone/kubizone/pkg/cmd/importer"
	"kubi.zone/kubizone/pkg/cmd/peercert"
	primarycmd "kubi.zone/kubizone/pkg/cmd/primary"
	"kubi.zone/kubizone/pkg/cmd/replacemember"
	"kubi.zone/kubizone/pkg/cmd/restore"
	"kubi.zone/kubizone/pkg/cmd/up"
	verifycmd "kubi.zone/kubizone/pkg/cmd/verify"
	"kubi.zone/kubizone/pkg/cmd/webhookserver"
)

// New is the root command. Nothing is shared between two of them but the log.
func New() *cobra.Command {
	var verbosity int
	root := &cobra.Command{
		Use:   "kubizone",
		Short: "DNS as a native Kubernetes API",
		Long: `DNS as a native Kubernetes API: zones and records are objects, a zone's serial and hash change in the transaction that
changes a record, and secondaries are told within a second.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		// Main says where the commands are listed.
		DisableSuggestions: true,
		PersistentPreRunE: func(command *cobra.Command, _ []string) error {
			return quiet(command.ErrOrStderr(), verbosity)
		},
	}
	root.PersistentFlags().IntVarP(&verbosity, "v", "v", 0, "how much is logged: 0 warnings and errors, 2 what happens, 4 and more for debugging")
	root.AddCommand([]*cobra.Command{
		up.NewCommand(&verbosity),
		apiservercmd.NewCommand(),
		primarycmd.NewCommand(),
		importer.NewCommand(),
		exporter.NewCommand(),
		verifycmd.NewCommand(),
		fsck.NewCommand(),
		backup.NewCommand(),
		restore.NewCommand(),
		replacemember.NewCommand(),
		adoptcluster.NewCommand(),
		peercert.NewCommand(),
		controller.NewCommand(),
		doctor.NewCommand(),
		webhookserver.NewCommand(),
		versionCommand(),
	}...)
	explain(root)
	return root
}

// explain has what is wrong with a command line end in the next step (C2): cobra's own words name the mistake alone.
func explain(root *cobra.Command) {
	root.SetFlagErrorFunc(func(command *cobra.Command, err error) error {
		return fmt.Errorf("%w; %s --help lists the flags", err, command.CommandPath())
	})
	for _, command := range root.Commands() {
		judge := command.Args
		command.Args = func(command *cobra.Command, arguments []string) error {
			switch err := judge(command, arguments); {
			case err == nil:
				return nil
			case !strings.Contains(strings.TrimSuffix(command.Use, " [flags]"), " "):
				return fmt.Errorf("%s takes flags alone, and %q is none; %s --help lists them", command.CommandPath(), arguments[0], command.CommandPath())
			default:
				return fmt.Errorf("%d arguments where it is %s; %s --help says more", len(arguments), command.UseLine(), command.CommandPath())
			}
		}
	}
}

// Main runs the command line and returns the exit code.
func Main(arguments []string, out, errors io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal is the system's again (C3)
	root := New()
	root.SetArgs(arguments)
	root.SetOut(out)
	root.SetErr(errors)
	switch command, err := root.ExecuteContextC(ctx); {
	case err == nil:
		return 0
	case command == root && !strings.Contains(err.Error(), "--help"):
		// By itself it does nothing, so there was no such command.
		fmt.Fprintf(errors, "kubizone: %v; kubizone --help lists the commands\n", err)
	default:
		fmt.Fprintf(errors, "kubizone: %v\n", err)
	}
	return 1
}

// quiet sends warnings and errors to where errors go, and what is only information with -v alone (C4). klog is one for
// the process; the libraries we are built on write to it.
func quiet(to io.Writer, verbosity int) error {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{
		"v": strconv.Itoa(verbosity), "logtostderr": "false", "alsologtostderr": "false", "one_output": "true",
		// Everything goes where it is sent below, and nowhere a second time.
		"stderrthreshold": "FATAL",
	} {
		if err := flags.Set(name, value); err != nil {
			return fmt.Errorf("log: %w", err)
		}
	}
	information := io.Discard
	if verbosity > 0 {
		information = to
	}
	klog.SetOutputBySeverity("INFO", information)
	for _, severity := range []string{"WARNING", "ERROR", "FATAL"} {
		klog.SetOutputBySeverity(severity, to)
	}
	return nil
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(command.OutOrStdout(), "kubizone v%s (%s %s/%s, %s)\n", apiserver.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, libraries())
			return err
		},
	}
}

// libraries are the two whose behaviour shows through.
func libraries() string {
	versions := map[string]string{"k8s.io/apiserver": "unknown", "go.etcd.io/etcd/server/v3": "unknown"}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if _, ours := versions[module.Path]; ours {
				versions[module.Path] = module.Version
			}
		}
	}
	return "apiserver " + versions["k8s.io/apiserver"] + ", etcd " + versions["go.etcd.io/etcd/server/v3"]
}
