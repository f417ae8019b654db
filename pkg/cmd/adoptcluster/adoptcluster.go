// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package adoptcluster

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/cmd/kubeconfig"
	"kubi.zone/kubizone/pkg/cmd/source"
	"kubi.zone/kubizone/pkg/ledger"
)

// NewCommand is the sub-command.
func NewCommand() *cobra.Command {
	var store source.Options
	cluster := kubeconfig.NewOptions()
	command := &cobra.Command{
		Use:   "adopt-cluster",
		Short: "confirm that a store belongs to this cluster, after a control plane was built anew",
		Long: `Say that a store belongs to the cluster of the kubeconfig. A server that finds its zones in a cluster it does not know
removes nothing of namespaces that are not there: a control plane that was built anew, or a kubeconfig of another
cluster, must not wipe DNS. Once the namespaces are back, this lets it clean up again. Servers may be running.`,
		Example: `  kubizone adopt-cluster --data-dir /var/lib/kubizone/data --kubeconfig cluster.kubeconfig
  kubizone adopt-cluster --etcd-servers https://etcd-0:2379 --etcd-cafile ca.crt --etcd-certfile c.crt --etcd-keyfile c.key`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := store.Validate(); err != nil {
				return err
			}
			return adoptStore(command.Context(), store, cluster, command.OutOrStdout())
		},
	}
	store.AddFlags(command.Flags())
	cluster.AddFlags(command.Flags())
	return command
}

func adoptStore(ctx context.Context, store source.Options, cluster *kubeconfig.Options, out io.Writer) error {
	config, _, err := cluster.Client()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	system, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("namespace %s, by whose UID a cluster is known: %w", metav1.NamespaceSystem, err)
	}
	if system.UID == "" {
		// A standalone server says that every namespace is there, and has none.
		return fmt.Errorf("--kubeconfig: %s is no kube-apiserver: its namespace %s has no UID, by which a cluster is known; name the kubeconfig of the cluster", config.Host, metav1.NamespaceSystem)
	}
	where, release, err := store.Reach(ctx)
	if err != nil {
		return err
	}
	defer release()
	etcd, _, err := apiserver.Source{Etcd: where}.Open(ctx)
	if err != nil {
		return err
	}
	defer etcd.Close()
	before, err := ledger.AdoptCluster(ctx, etcd.Client, apiserver.Prefix, string(system.UID))
	if err != nil {
		return err
	}
	switch before {
	case string(system.UID):
		fmt.Fprintf(out, "The store belongs to this cluster already (kube-system %s).\n", before)
	case "":
		fmt.Fprintf(out, "The store belongs to this cluster now (kube-system %s); it belonged to none.\n", system.UID)
	default:
		fmt.Fprintf(out, "The store belongs to this cluster now (kube-system %s); it belonged to the one with kube-system %s.\n", system.UID, before)
	}
	return nil
}
