// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"flag"
	"fmt"
	"reflect"

	"github.com/spf13/cobra"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
)

// NewCommand is the sub-command.
func NewCommand() *cobra.Command {
	options := NewOptions()
	command := &cobra.Command{
		Use:   "apiserver",
		Short: "serve the API behind a kube-apiserver",
		Long: `Serve zones and records as an aggregated API until SIGTERM: kube-apiserver authenticates and authorizes clients, and
its namespaces, quotas, webhooks and policies hold. Objects are stored in an etcd cluster (--etcd-servers) that several
servers may share, or in an etcd that runs in this process (--etcd-data-dir).`,
		Example: `  kubizone apiserver --etcd-servers https://etcd-0:2379 --etcd-cafile ca.crt --etcd-certfile c.crt --etcd-keyfile c.key \
    --tls-cert-file tls.crt --tls-private-key-file tls.key
  kubizone apiserver --etcd-data-dir /var/lib/kubizone/data --kubeconfig cluster.kubeconfig`,
		Args: cobra.NoArgs,
		// A server's log is for operators and says what happens, where the other sub-commands are quiet; --v is
		// upstream's.
		PersistentPreRunE: func(command *cobra.Command, _ []string) error {
			flags := flag.NewFlagSet("klog", flag.ContinueOnError)
			klog.InitFlags(flags)
			for name, value := range map[string]string{"logtostderr": "false", "one_output": "true", "stderrthreshold": "FATAL"} {
				if err := flags.Set(name, value); err != nil {
					return fmt.Errorf("log: %w", err)
				}
			}
			klog.SetOutput(command.ErrOrStderr())
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error {
			if err := options.Complete(); err != nil {
				return err
			}
			if err := options.Validate(); err != nil {
				return err
			}
			if err := logsapi.ValidateAndApply(options.Logs, utilfeature.DefaultFeatureGate); err != nil {
				return fmt.Errorf("logs: %w", err)
			}
			defer logs.FlushLogs()
			// Upstream's Apply complains of files that no flag named.
			if !reflect.DeepEqual(options.Metrics, metrics.NewOptions()) {
				options.Metrics.Apply()
			}
			return options.Run(command.Context())
		},
	}
	groups := options.Flags()
	for _, group := range groups.FlagSets {
		command.Flags().AddFlagSet(group)
	}
	const width = 120
	cliflag.SetUsageAndHelpFunc(command, groups, width)
	return command
}
