// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package replacemember

import (
	"errors"

	"github.com/spf13/cobra"

	"kubi.zone/kubizone/pkg/kit/terminal"
	"kubi.zone/kubizone/pkg/zone/etcd/embed"
)

func NewCommand() *cobra.Command {
	var dataDir, initialCluster string
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
			var wrong []error
			if dataDir == "" {
				wrong = append(wrong, errors.New("--data-dir: must not be empty; name the directory of a member that runs"))
			}
			if initialCluster == "" {
				wrong = append(wrong, errors.New("--etcd-initial-cluster: must not be empty; give what kubizone apiserver has"))
			}
			if len(wrong) > 0 {
				return errors.Join(wrong...)
			}
			member, out := arguments[0], command.OutOrStdout()
			printLine := func(line string) { terminal.Fprintf(out, "%s\n", line) }
			if err := embed.Replace(command.Context(), dataDir, member, initialCluster, printLine); err != nil {
				return err
			}
			_, err := terminal.Fprintf(out, "member %s has everything and a vote\n", member)
			return err
		},
	}
	command.Flags().StringVar(&dataDir, "data-dir", "", "data directory of a member that runs on this machine")
	command.Flags().StringVar(&initialCluster, "etcd-initial-cluster", "", "the value of kubizone apiserver, with the new member")
	return command
}
