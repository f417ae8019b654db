// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kubi.zone/kubizone/pkg/backup"
	"kubi.zone/kubizone/pkg/cmd/source"
)

// Options are the flags and the argument.
type Options struct {
	Source source.Options
	// Out is the file to write; its manifest goes beside it.
	Out string
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) { o.Source.AddFlags(flags) }

// Validate reports all that is wrong with the options.
func (o *Options) Validate() error { return o.Source.Validate() }

// Run takes the backup and says what is in it.
func (o *Options) Run(ctx context.Context, out io.Writer) error {
	where, release, err := o.Source.Reach(ctx)
	if err != nil {
		return err
	}
	defer release()
	m, err := backup.Take(ctx, where, o.Out)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s and %s: %s at revision %d, %d octets, SHA-256 %s\n",
		o.Out, backup.ManifestFile(o.Out), m, m.Revision, m.Bytes, m.SHA256)
	return err
}

// NewCommand is the sub-command.
func NewCommand() *cobra.Command {
	options := &Options{}
	command := &cobra.Command{
		Use:   "backup OUT",
		Short: "write everything that is stored into a file",
		Long: `Write everything that is stored at one moment into the file OUT, and what must be in it into OUT.manifest.json beside it.
Servers go on meanwhile. kubizone restore takes both; etcd's own tools read OUT. It is not encrypted beyond what the
server encrypts: keep it where you would keep the data directory.`,
		Example: `  kubizone backup --data-dir ./data ./backup-$(date +%F)
  kubizone backup --etcd-servers https://etcd-0:2379,https://etcd-1:2379 \
    --etcd-cafile ca.crt --etcd-certfile c.crt --etcd-keyfile c.key ./backup`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			options.Out = arguments[0]
			if err := options.Validate(); err != nil {
				return err
			}
			return options.Run(command.Context(), command.OutOrStdout())
		},
	}
	options.AddFlags(command.Flags())
	return command
}
