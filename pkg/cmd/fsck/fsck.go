// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/apiserver/embed"
)

// ErrDamaged says that the report names damage.
var ErrDamaged = errors.New("the store is damaged: see above; keep a copy of it before anything else")

// Options are the flags. Either DataDir or Servers is given.
type Options struct {
	DataDir string
	// Servers are URLs of etcd, with files where they are https.
	Servers                   []string
	CAFile, CertFile, KeyFile string
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.DataDir, "data-dir", o.DataDir, "data directory of kubizone up, in use or not")
	flags.StringSliceVar(&o.Servers, "etcd-servers", o.Servers, "URLs of an etcd cluster, instead of --data-dir")
	flags.StringVar(&o.CAFile, "etcd-cafile", o.CAFile, "CA of the etcd cluster")
	flags.StringVar(&o.CertFile, "etcd-certfile", o.CertFile, "client certificate for the etcd cluster")
	flags.StringVar(&o.KeyFile, "etcd-keyfile", o.KeyFile, "its key")
}

// Validate reports all that is wrong with the options.
func (o *Options) Validate() error {
	var wrong []error
	if (o.DataDir == "") == (len(o.Servers) == 0) {
		wrong = append(wrong, errors.New("give either --data-dir or --etcd-servers: one says which store to check"))
	}
	if len(o.Servers) == 0 && (o.CAFile != "" || o.CertFile != "" || o.KeyFile != "") {
		wrong = append(wrong, errors.New("--etcd-cafile, --etcd-certfile and --etcd-keyfile go with --etcd-servers"))
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		wrong = append(wrong, errors.New("--etcd-certfile and --etcd-keyfile: give both or none"))
	}
	if o.DataDir != "" {
		// Opening would make one.
		if _, err := os.Stat(filepath.Join(o.DataDir, "etcd")); err != nil {
			wrong = append(wrong, fmt.Errorf("--data-dir %s: there is no data of kubizone: %w", o.DataDir, err))
		}
	}
	return errors.Join(wrong...)
}

// Run checks and writes the report. ErrDamaged when it names damage.
func (o *Options) Run(ctx context.Context, out io.Writer) (err error) {
	where := storagebackend.TransportConfig{ServerList: o.Servers, TrustedCAFile: o.CAFile, CertFile: o.CertFile, KeyFile: o.KeyFile}
	if o.DataDir != "" {
		servers, closeStore, err := embed.Reach(ctx, o.DataDir, func(line string) { klog.Warningf("etcd: %s", line) })
		if err != nil {
			return err
		}
		defer closeStore()
		where.ServerList = servers
	}
	report, err := apiserver.Check(ctx, where)
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
		Long: `Recompute every internal key and every step of the journals from the zones and records, at one revision, and say where
they differ. Nothing is repaired and nothing is written. Exit code 1 says that there is damage; what a running server has
still to do is none.`,
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
