// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package replacemember

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kubi.zone/kubizone/pkg/etcd/embed"
)

// Options are the flags and the argument.
type Options struct {
	Member, DataDir, InitialCluster string
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.DataDir, "data-dir", o.DataDir, "data directory of a member that runs on this machine")
	flags.StringVar(&o.InitialCluster, "etcd-initial-cluster", o.InitialCluster, "as kubizone apiserver has it; "+
		"it must name the new member")
}

// Validate reports all that is wrong with the options.
func (o *Options) Validate() error {
	var wrong []error
	if o.DataDir == "" {
		wrong = append(wrong, errors.New("--data-dir: must not be empty; name the directory of a member that runs"))
	}
	if o.InitialCluster == "" {
		wrong = append(wrong, errors.New("--etcd-initial-cluster: must not be empty; give what kubizone apiserver has"))
	}
	return errors.Join(wrong...)
}

// Run lets the member in and waits for it.
func (o *Options) Run(ctx context.Context, out io.Writer) error {
	if err := embed.Replace(ctx, o.DataDir, o.Member, o.InitialCluster, func(line string) { fmt.Fprintln(out, line) }); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "member %s has everything and a vote\n", o.Member)
	return err
}

// NewCommand is the sub-command.
func NewCommand() *cobra.Command {
	options := &Options{}
	command := &cobra.Command{
		Use:   "replace-member NAME",
		Short: "admit a member without data to the embedded etcd, in the place of a lost one",
		Long: `Let member NAME of the embedded etcd in: one that lost its disk, or one that joins a store that was restored. It must
have no data; the one that had its name is taken out. Run it on a member that is alive. It waits until the new member has
everything, and gives it a vote then.`,
		Example: `  kubectl -n kubizone-system exec kubizone-apiserver-0 -- \
    /kubizone replace-member kubizone-apiserver-2 --data-dir /var/lib/kubizone/data \
    --etcd-initial-cluster kubizone-apiserver-0=https://…,…`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			options.Member = arguments[0]
			if err := options.Validate(); err != nil {
				return err
			}
			return options.Run(command.Context(), command.OutOrStdout())
		},
	}
	options.AddFlags(command.Flags())
	return command
}
