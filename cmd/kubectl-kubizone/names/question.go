// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubeconfig"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/cmd/program"
	"kubi.zone/kubizone/pkg/client/find"
)

var ErrNo = program.No("the answer is no")

type question struct {
	cluster *kubeconfig.Options
	api     versioned.Interface
	view    string
}

type answer struct {
	kind   string
	result any
	text   func(*output.Text)
	no     error // returned if the answer is no
}

func (a *answer) printTo(out io.Writer, format *output.Format) error {
	if err := format.Print(out, a.kind, a.result, a.text); err != nil {
		return err
	}
	return a.no
}

func noIf(is bool) error {
	if is {
		return ErrNo
	}
	return nil
}

func newQuestion() *question { return &question{cluster: kubeconfig.NewOptions()} }

// makeCommand completes a command that asks a question: flags, connection, the answer by ask, and its output. ofView
// adds the flag --view.
func (q *question) makeCommand(command *cobra.Command, ofView bool,
	ask func(context.Context, *find.Search, []string) (*answer, error)) *cobra.Command {
	q.cluster.AddFlagsWithNamespace(command.Flags())
	if ofView {
		command.Flags().StringVar(&q.view, "view", "", "view of the zone; absent: the default view")
	}
	format := output.AddFormat(command)
	command.RunE = func(command *cobra.Command, arguments []string) error {
		s, err := q.connect()
		if err != nil {
			return err
		}
		found, err := ask(command.Context(), s, arguments)
		if err != nil {
			return err
		}
		return found.printTo(command.OutOrStdout(), format)
	}
	return command
}

func (q *question) connect() (*find.Search, error) {
	var namespace string
	var err error
	if q.api, namespace, err = q.cluster.Reader(); err != nil {
		return nil, err
	}
	return q.cluster.Search(q.api, namespace), nil
}

const (
	maxCompletions = 500
	timeoutSeconds = 2
)

// complete returns a completion: the words first, then the list of the server. Without an answer, nothing is completed.
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
