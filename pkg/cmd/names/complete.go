// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	client "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// maxCompletions bounds the Records that a completion reads.
const maxCompletions = 500

// completeName completes the words given, and behind them the name of a Record of the namespace.
func (q *question) completeName(words ...string) cobra.CompletionFunc {
	return func(command *cobra.Command, arguments []string, _ string) ([]string, cobra.ShellCompDirective) {
		switch n := len(arguments); {
		case n < len(words):
			return words[n : n+1], cobra.ShellCompDirectiveNoFileComp
		case n > len(words):
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return q.completeRecords(command, func(r *v1alpha1.Record) string { return r.Status.FQDN })
	}
}

// completeRecord completes the name of a Record object.
func (q *question) completeRecord(command *cobra.Command, arguments []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(arguments) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return q.completeRecords(command, func(r *v1alpha1.Record) string { return r.Name })
}

// completeZone completes the name of a zone of the namespace.
func (q *question) completeZone(command *cobra.Command, arguments []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(arguments) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return q.listCompletions(func(api client.KubizoneV1alpha1Interface, namespace string, options metav1.ListOptions) (all []string) {
		if list, err := api.Zones(namespace).List(command.Context(), options); err == nil {
			for i := range list.Items {
				all = append(all, list.Items[i].Status.FQDN)
			}
		}
		return all
	})
}

// completeRecords completes what Records of the namespace have.
func (q *question) completeRecords(command *cobra.Command, of func(*v1alpha1.Record) string) ([]string, cobra.ShellCompDirective) {
	return q.listCompletions(func(api client.KubizoneV1alpha1Interface, namespace string, options metav1.ListOptions) (all []string) {
		if list, err := api.Records(namespace).List(command.Context(), options); err == nil {
			for i := range list.Items {
				all = append(all, of(&list.Items[i]))
			}
		}
		return all
	})
}

// listCompletions lists words for a shell. A server that does not answer in time completes nothing.
func (q *question) listCompletions(list func(client.KubizoneV1alpha1Interface, string, metav1.ListOptions) []string) ([]string,
	cobra.ShellCompDirective) {
	api, namespace, err := q.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	seconds := int64(timeoutSeconds)
	all := list(api, namespace, metav1.ListOptions{Limit: maxCompletions, TimeoutSeconds: &seconds})
	slices.Sort(all)
	return slices.Compact(all), cobra.ShellCompDirectiveNoFileComp
}
