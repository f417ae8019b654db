// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"github.com/spf13/cobra"
)

// NewCommand is the sub-command. verbosity is where the root keeps -v.
func NewCommand(verbosity *int) *cobra.Command {
	options := NewOptions()
	command := &cobra.Command{
		Use:   "up",
		Short: "run everything in one process: API, etcd, views and the hidden primary",
		Long: `Run everything in one process until Ctrl-C: the API server with its own etcd in --data-dir, and a hidden primary
that secondaries transfer zones from. The administrator's kubeconfig is in the data directory. A line that begins with
"ready" says when it serves.`,
		Example: `  kubizone up --data-dir ./data --load artifacts/examples
  kubizone up --data-dir ./data --load root=root.zone --dns-view "" --dns-view root --transfer-to 192.0.2.53`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			options.Verbosity = *verbosity
			config, err := options.Complete(command.OutOrStdout())
			if err != nil {
				return err
			}
			return config.Run(command.Context())
		},
	}
	options.AddFlags(command.Flags())
	return command
}
