// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"errors"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/pkg/apiserver/backup"
	"kubi.zone/kubizone/pkg/kit/terminal"
)

func NewCommand() *cobra.Command {
	restore := backup.Restore{Log: func(line string) { klog.Warningf("etcd: %s", line) }}
	command := &cobra.Command{
		Use:   "restore FILE",
		Short: "put a backup into a new data directory",
		Long: `Put what kubizone backup wrote into a data directory without data, check it, and move every serial ahead (by
spec.minimumSerial), so that secondaries which saw later serials than the backup's take what is restored. Clients that
watch start over. Stop whatever serves the old data first: two servers would hand out different zones.

A backup can be restored again, or an older one after it: by the clock, each restore is ahead of those before. If an
older one was restored after FILE was taken, name that one in --ahead-of.`,
		Example: `  kubizone restore ./backup-2026-11-20 --data-dir ./data-new
  kubizone restore ./backup --data-dir /var/lib/kubizone/data --etcd-member-name kubizone-apiserver-0 \
    --etcd-initial-cluster kubizone-apiserver-0=https://…`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			var wrong []error
			if restore.DataDir == "" {
				wrong = append(wrong, errors.New("--data-dir: must not be empty; name a directory without data"))
			}
			if (restore.MemberName == "") != (restore.InitialCluster == "") {
				wrong = append(wrong, errors.New("--etcd-member-name and --etcd-initial-cluster: give both or none"))
			}
			if len(wrong) > 0 {
				return errors.Join(wrong...)
			}
			out := command.OutOrStdout()
			restore.Backup, restore.Report = arguments[0], func(line string) { terminal.Fprintf(out, "%s\n", line) }
			bar := output.StartBar(command.ErrOrStderr(), "restoring and checking the store")
			report, err := restore.Run(command.Context())
			bar.End()
			if err != nil {
				return err
			}
			if err := report.WriteText(out); err != nil {
				return err
			}
			_, err = terminal.Fprintf(out, "restored into %s; start the server on it, it continues pending work\n", restore.DataDir)
			return err
		},
	}
	flags := command.Flags()
	flags.StringVar(&restore.DataDir, "data-dir", "", "data directory to restore into; it must have no data")
	flags.StringVar(&restore.AheadOf, "ahead-of", "", "an older backup that was restored after FILE was taken: serials are raised above "+
		"those of it, too")
	flags.StringVar(&restore.EncryptionProviderConfigFile, "encryption-provider-config", "",
		"encryption configuration of the server, where it has one")
	flags.StringVar(&restore.MemberName, "etcd-member-name", "", "restore the first member of a cluster: its name; "+
		"the others join by kubizone replace-member")
	flags.StringVar(&restore.InitialCluster, "etcd-initial-cluster", "", "with --etcd-member-name: the value of kubizone apiserver")
	return command
}
