// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/backup"
	"kubi.zone/kubizone/pkg/cmd/source"
)

// ErrDamaged says that the report names damage.
var ErrDamaged = errors.New("the store is damaged: see above; keep a copy of it before anything else")

// Options are the flags.
type Options struct {
	Source source.Options
	// EncryptionProviderConfigFile is the server's, where it encrypts what it stores.
	EncryptionProviderConfigFile string
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.Source.AddFlags(flags)
	flags.StringVar(&o.EncryptionProviderConfigFile, "encryption-provider-config", o.EncryptionProviderConfigFile,
		"encryption configuration of the server, if it has one")
}

// Validate reports all that is wrong with the options.
func (o *Options) Validate() error { return o.Source.Validate() }

// Run checks the store and writes the report. It returns ErrDamaged if the report names damage.
func (o *Options) Run(ctx context.Context, out io.Writer) error {
	where, release, err := o.Source.Reach(ctx)
	if err != nil {
		return err
	}
	defer release()
	report, err := backup.Check(ctx, apiserver.Source{Etcd: where, EncryptionProviderConfigFile: o.EncryptionProviderConfigFile})
	if err != nil {
		return err
	}
	if err := report.WriteText(out); err != nil {
		return err
	}
	if !report.Clean() {
		return ErrDamaged
	}
	return nil
}

// NewCommand is the sub-command.
func NewCommand() *cobra.Command {
	options := &Options{}
	command := &cobra.Command{
		Use:   "fsck",
		Short: "recompute what is stored from the objects and compare",
		Long: `Recompute every internal key and every step of the journals from the zones and records, at one revision, and report
differences. Nothing is repaired and nothing is written. Exit code 1 means damage; pending work of a running server is
not damage.`,
		Example: `  kubizone fsck --data-dir ./data
  kubizone fsck --etcd-servers https://etcd-0:2379,https://etcd-1:2379 --etcd-cafile ca.crt --etcd-certfile c.crt --etcd-keyfile c.key`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := options.Validate(); err != nil {
				return err
			}
			return options.Run(command.Context(), command.OutOrStdout())
		},
	}
	options.AddFlags(command.Flags())
	return command
}
