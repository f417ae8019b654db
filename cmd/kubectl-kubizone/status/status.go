// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/cmd/kubeconfig"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/cmd/program"
	"kubi.zone/kubizone/pkg/client/overview"
)

const (
	interval  = 2 * time.Second
	restAfter = 4
)

func Results() map[string]any { return map[string]any{"Overview": overview.Overview{}} }

func NewCommand() *cobra.Command {
	cluster, watch := kubeconfig.NewOptions(), false
	command := &cobra.Command{
		Use:   "status",
		Short: "show what is not current, held, paused, withdrawn or refused, and how the servers are",
		Long: `Show on one screen: zones that are not current, why and since when; what is held, paused, withdrawn or was refused in
the last hour; zones that no class delivers; the oldest unconfirmed change; and processes, etcd, certificates and the last
backup, for those with the right to get the Installation (ClusterRole kubizone-operator). Without -n it shows all namespaces,
or that of the context if you may not list all; -n team-a,team-b shows these. A line names each right that you lack. The exit
code is 1 if a zone that was read is not current, or with namespaces a Record, 2 if no zone could be read.`,
		Example: "  kubectl kubizone status --watch\n  kubectl kubizone status -n team-a,team-b",
		Args:    cobra.NoArgs,
	}
	cluster.AddFlagsWithNamespace(command.Flags())
	command.Flags().BoolVarP(&watch, "watch", "w", false, "refresh every two seconds, until interrupted")
	format := output.AddFormat(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		r, err := connectReader(cluster)
		if err != nil {
			return err
		}
		if watch {
			return watchAll(command.Context(), r, command.OutOrStdout(), format)
		}
		of := r.Read(command.Context(), nil)
		if err := format.Print(command.OutOrStdout(), "Overview", of, page{of}.printText); err != nil {
			return err
		}
		return exitWith(of.Fault())
	}
	return command
}

// exitWith returns the error of the command: a zone that is not current is the answer "no".
func exitWith(fault error) error {
	if fault == nil || errors.Is(fault, overview.ErrUnread) {
		return fault
	}
	return program.No(fault.Error())
}

func connectReader(cluster *kubeconfig.Options) (*overview.Reader, error) {
	config, namespace, err := cluster.Client()
	if err != nil {
		return nil, err
	}
	config.QPS, config.WarningHandlerWithContext = -1, rest.NoWarnings{}
	return overview.NewReader(config, strings.Split(cluster.Namespace(), ","), namespace)
}

// watchAll refreshes the page until ctx ends, and then returns nil. Its exit code says nothing about zones.
func watchAll(ctx context.Context, r *overview.Reader, out io.Writer, format *output.Format) error {
	for {
		began := time.Now()
		of := r.Read(ctx, nil)
		if ctx.Err() != nil {
			return nil
		}
		if err := format.PrintOver(out, "Overview", of, page{of}.printText); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		// A read of ten seconds is followed by a rest of forty (N3).
		case <-time.After(max(interval, restAfter*time.Since(began))):
		}
	}
}
