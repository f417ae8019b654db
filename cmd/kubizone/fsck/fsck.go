// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"github.com/spf13/cobra"

	"kubi.zone/kubizone/cmd/kubizone/source"
	"kubi.zone/kubizone/cmd/program"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/apiserver/backup"
)

var ErrDamaged = program.No("the store is damaged: see above; keep a copy of it before anything else")

func NewCommand() *cobra.Command {
	var from source.Options
	var encryption string
	command := &cobra.Command{
		Use:   "fsck",
		Short: "compare stored keys with those recomputed from the objects",
		Long: `Recompute every internal key and every step of the journals from the zones and records, at one revision, and report
differences. Nothing is repaired and nothing is written. Exit code 1 means damage; pending work of a running server is
not damage.`,
		Example: `  kubizone fsck --data-dir ./data
  kubizone fsck --etcd-servers https://etcd-0:2379,https://etcd-1:2379 --etcd-cafile ca.crt --etcd-certfile c.crt --etcd-keyfile c.key`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			where, release, err := from.Reach(command.Context())
			if err != nil {
				return err
			}
			defer release()
			report, err := backup.Check(command.Context(), apiserver.Source{Etcd: where, EncryptionProviderConfigFile: encryption})
			if err != nil {
				return err
			}
			if err := report.WriteText(command.OutOrStdout()); err != nil {
				return err
			}
			if !report.Clean() {
				return ErrDamaged
			}
			return nil
		},
	}
	from.AddFlags(command.Flags())
	command.Flags().StringVar(&encryption, "encryption-provider-config", "", "encryption configuration of the server, if it has one")
	return command
}
