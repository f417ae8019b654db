// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/find"
)

const maxCompletions = 500

func (q *question) complete(list func(context.Context, *find.Search, metav1.ListOptions) []string, words ...string) cobra.CompletionFunc {
	return func(command *cobra.Command, arguments []string, _ string) (all []string, _ cobra.ShellCompDirective) {
		if n := len(arguments); n < len(words) {
			all = words[n : n+1]
		} else if s, err := q.connect(); n == len(words) && err == nil {
			seconds := int64(timeoutSeconds)
			all = list(command.Context(), s, metav1.ListOptions{Limit: maxCompletions, TimeoutSeconds: &seconds})
			slices.Sort(all)
		}
		return slices.Compact(all), cobra.ShellCompDirectiveNoFileComp
	}
}

func listZones(ctx context.Context, s *find.Search, options metav1.ListOptions) (all []string) {
	if list, err := s.API.Zones(s.Namespace).List(ctx, options); err == nil {
		for i := range list.Items {
			all = append(all, list.Items[i].Status.FQDN)
		}
	}
	return all
}

func listRecords(of func(*v1alpha1.Record) []string) func(context.Context, *find.Search, metav1.ListOptions) []string {
	return func(ctx context.Context, s *find.Search, options metav1.ListOptions) (all []string) {
		if list, err := s.API.Records(s.Namespace).List(ctx, options); err == nil {
			for i := range list.Items {
				all = append(all, of(&list.Items[i])...)
			}
		}
		return all
	}
}

func fqdnOf(r *v1alpha1.Record) []string { return []string{r.Status.FQDN} }
