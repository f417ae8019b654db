// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"github.com/spf13/cobra"

	"kubi.zone/kubizone/cmd/kubizone/source"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/pkg/apiserver/backup"
	"kubi.zone/kubizone/pkg/kit/terminal"
)

func NewCommand() *cobra.Command {
	var from source.Options
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
			where, release, err := from.Reach(command.Context())
			if err != nil {
				return err
			}
			defer release()
			out, bar := arguments[0], output.StartBar(command.ErrOrStderr(), "reading the store")
			m, err := backup.Take(command.Context(), where, out)
			bar.End()
			if err != nil {
				return err
			}
			if err := m.WriteTime(command.Context(), where); err != nil {
				_, _ = terminal.Fprintf(command.ErrOrStderr(), "warning: the backup is complete, but its time is not in the store (%v), "+
					"and the alert KubizoneBackupLate will fire; give the command a client that may write there\n", err)
			}
			_, err = terminal.Fprintf(command.OutOrStdout(), "%s and %s: %s at revision %d, %d octets, SHA-256 %s\n",
				out, backup.ManifestFile(out), m, m.Revision, m.Bytes, m.SHA256)
			return err
		},
	}
	from.AddFlags(command.Flags())
	return command
}
