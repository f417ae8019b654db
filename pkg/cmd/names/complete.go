// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		return q.listCompletions(command, func(r *v1alpha1.Record) string { return r.Status.FQDN })
	}
}

// completeRecord completes the name of a Record object.
func (q *question) completeRecord(command *cobra.Command, arguments []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(arguments) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return q.listCompletions(command, func(r *v1alpha1.Record) string { return r.Name })
}

// listCompletions lists what Records of the namespace have. A server that does not answer in time completes nothing.
func (q *question) listCompletions(command *cobra.Command, of func(*v1alpha1.Record) string) ([]string, cobra.ShellCompDirective) {
	api, namespace, err := q.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	seconds := int64(timeoutSeconds)
	list, err := api.Records(namespace).List(command.Context(), metav1.ListOptions{Limit: maxCompletions, TimeoutSeconds: &seconds})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var all []string
	for i := range list.Items {
		all = append(all, of(&list.Items[i]))
	}
	slices.Sort(all)
	return slices.Compact(all), cobra.ShellCompDirectiveNoFileComp
}
