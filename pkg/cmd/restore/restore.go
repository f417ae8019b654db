// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/backup"
)

// Options are the flags and the argument.
type Options struct {
	Backup, DataDir, AheadOf     string
	EncryptionProviderConfigFile string
	MemberName, InitialCluster   string
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.DataDir, "data-dir", o.DataDir, "data directory to restore into; it must have no data")
	flags.StringVar(&o.AheadOf, "ahead-of", o.AheadOf, "an older backup, if one was restored after this one was taken: "+
		"serials go ahead of what it gave, too")
	flags.StringVar(&o.EncryptionProviderConfigFile, "encryption-provider-config", o.EncryptionProviderConfigFile,
		"encryption configuration of the server, where it has one")
	flags.StringVar(&o.MemberName, "etcd-member-name", o.MemberName, "restore the first member of a cluster: its name; "+
		"the others join by kubizone replace-member")
	flags.StringVar(&o.InitialCluster, "etcd-initial-cluster", o.InitialCluster, "with --etcd-member-name: as kubizone apiserver has it")
}

// Validate reports all that is wrong with the options.
func (o *Options) Validate() error {
	var wrong []error
	if o.DataDir == "" {
		wrong = append(wrong, errors.New("--data-dir: must not be empty; name a directory without data"))
	}
	if (o.MemberName == "") != (o.InitialCluster == "") {
		wrong = append(wrong, errors.New("--etcd-member-name and --etcd-initial-cluster: give both or none"))
	}
	return errors.Join(wrong...)
}

// Run restores and says what is there then.
func (o *Options) Run(ctx context.Context, out io.Writer) error {
	restore := backup.Restore{
		Backup: o.Backup, DataDir: o.DataDir, AheadOf: o.AheadOf, EncryptionProviderConfigFile: o.EncryptionProviderConfigFile,
		MemberName: o.MemberName, InitialCluster: o.InitialCluster,
		Report: func(line string) { fmt.Fprintln(out, line) },
		Log:    func(line string) { klog.Warningf("etcd: %s", line) },
	}
	report, err := restore.Run(ctx)
	if err != nil {
		return err
	}
	if err := report.WriteText(out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "restored into %s; start the server on it, it continues with what is owed\n", o.DataDir)
	return err
}

// NewCommand is the sub-command.
func NewCommand() *cobra.Command {
	options := &Options{}
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
			options.Backup = arguments[0]
			if err := options.Validate(); err != nil {
				return err
			}
			return options.Run(command.Context(), command.OutOrStdout())
		},
	}
	options.AddFlags(command.Flags())
	return command
}
