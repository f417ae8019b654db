// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/api/client/clientset/versioned"
)

const (
	// completionTime bounds how long a shell waits for the server.
	completionTime = 3 * time.Second
	// completionLimit bounds how many zones are listed.
	completionLimit = 500
)

// CompleteZone completes the argument ZONE, and -n with the namespaces that have zones. If the server does not answer
// in time or denies the list, there are no completions.
func (o *Options) CompleteZone(command *cobra.Command) error {
	command.ValidArgsFunction = func(command *cobra.Command, arguments []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(arguments) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return o.completeNames(command.Context(), typed), cobra.ShellCompDirectiveNoFileComp
	}
	return o.completeNamespace(command)
}

// CompleteZoneFlag does the same for a flag that names a zone. The completion of arguments stays as it is: files, by
// default.
func (o *Options) CompleteZoneFlag(command *cobra.Command, flag string) error {
	if err := command.RegisterFlagCompletionFunc(flag, func(command *cobra.Command, _ []string, typed string) ([]string,
		cobra.ShellCompDirective) {
		return o.completeNames(command.Context(), typed), cobra.ShellCompDirectiveNoFileComp
	}); err != nil {
		return err
	}
	return o.completeNamespace(command)
}

func (o *Options) completeNamespace(command *cobra.Command) error {
	return command.RegisterFlagCompletionFunc(clientcmd.FlagNamespace, func(command *cobra.Command, _ []string, _ string) ([]string,
		cobra.ShellCompDirective) {
		var namespaces []string
		for _, zone := range o.listZones(command.Context(), metav1.NamespaceAll) {
			namespaces = append(namespaces, zone.Namespace)
		}
		slices.Sort(namespaces)
		return slices.Compact(namespaces), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeNames returns names in the namespace of Client, or NAMESPACE/NAME if the typed text has a slash.
func (o *Options) completeNames(ctx context.Context, typed string) (names []string) {
	_, namespace, err := o.Client()
	if err != nil {
		return nil
	}
	before, _, qualified := strings.Cut(typed, "/")
	if qualified {
		namespace = before
	}
	for _, zone := range o.listZones(ctx, namespace) {
		if qualified {
			zone.Name = zone.Namespace + "/" + zone.Name
		}
		names = append(names, zone.Name)
	}
	return names
}

// listZones returns the metadata of the zones of a namespace.
func (o *Options) listZones(ctx context.Context, namespace string) (zones []metav1.ObjectMeta) {
	config, _, err := o.Client()
	if err != nil {
		return nil
	}
	config.Timeout, config.WarningHandlerWithContext = completionTime, rest.NoWarnings{}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil
	}
	list, err := client.KubizoneV1alpha1().Zones(namespace).List(ctx, metav1.ListOptions{Limit: completionLimit})
	if err != nil {
		return nil
	}
	for _, zone := range list.Items {
		zones = append(zones, zone.ObjectMeta)
	}
	return zones
}
