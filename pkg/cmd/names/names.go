// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	client "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/cmd/kubeconfig"
	"kubi.zone/kubizone/pkg/cmd/program"
	"kubi.zone/kubizone/pkg/terminal"
)

// ErrNo is returned for the answer no.
var ErrNo = program.No("the answer is no: see above")

const timeoutSeconds = 2

type question struct {
	cluster *kubeconfig.Options
	view    string
}

func newQuestion() *question { return &question{cluster: kubeconfig.NewOptions()} }

func (q *question) makeCommand(command *cobra.Command, ofView bool,
	ask func(context.Context, *search, []string, io.Writer) error) *cobra.Command {
	q.cluster.AddFlagsWithNamespace(command.Flags())
	if ofView {
		command.Flags().StringVar(&q.view, "view", "", "view of the zone; absent: the default view")
	}
	command.RunE = func(command *cobra.Command, arguments []string) error {
		s, err := q.connect()
		if err != nil {
			return err
		}
		return ask(command.Context(), s, arguments, command.OutOrStdout())
	}
	return command
}

func (q *question) connect() (*search, error) {
	config, namespace, err := q.cluster.Client()
	if err != nil {
		return nil, err
	}
	config.QPS, config.WarningHandlerWithContext = -1, rest.NoWarnings{}
	api, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return &search{api: api.KubizoneV1alpha1(), namespace: namespace, everywhere: q.cluster.Namespace() == ""}, nil
}

// NewCommands returns the sub-commands.
func NewCommands() []*cobra.Command {
	return []*cobra.Command{newMay(), newNames(), newTree(), newWho(), newWhy()}
}

func newMay() *cobra.Command {
	q := newQuestion()
	return q.makeCommand(&cobra.Command{
		Use:   "may create NAME TYPE",
		Short: "ask whether your namespace may have a Record",
		Long: `Ask the server whether the namespace of -n may have a Record of a name and a type: by which rule, or why not, which
namespace claims the name, and the contact of the zone. Nothing is written. The exit code is 1 where the answer is no. Of a name that
no rule gives the namespace nothing is told (kubectl kubizone explain S14.2).`,
		Example: "  kubectl kubizone may create www.apps.example.org A -n team-a",
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 3 || arguments[0] != "create" {
				return errors.New("it needs create NAME TYPE")
			}
			return nil
		},
		ValidArgsFunction: q.complete(listRecords(fqdnOf), "create"),
	}, true, q.askMay)
}

func (q *question) askMay(ctx context.Context, of *search, arguments []string, out io.Writer) error {
	name, namespace := arguments[1], of.namespace
	review := &v1alpha1.NameReview{Spec: v1alpha1.NameReviewSpec{Name: name, Type: arguments[2], View: q.view}}
	review, err := of.api.NameReviews(namespace).Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("namespace %s, name %s: %w", namespace, name, err)
	}
	s := &review.Status
	var text strings.Builder
	if s.Allowed {
		terminal.Fprintf(&text, "yes: zone %s gives %s to namespace %s by the rule %q\n", s.Zone, name, namespace, s.Rule)
	} else {
		terminal.Fprintf(&text, "no: %s\n", s.Reason)
	}
	if s.Claimed != "" {
		terminal.Fprintf(&text, "claimed: %s\n", s.Claimed)
	}
	if s.Contact != "" {
		terminal.Fprintf(&text, "contact: %s\n", s.Contact)
	}
	for _, warning := range s.Warnings {
		terminal.Fprintf(&text, "warning: %s\n", warning)
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return err
	}
	if !s.Allowed {
		return ErrNo
	}
	return nil
}

func newNames() *cobra.Command {
	q := newQuestion()
	return q.makeCommand(&cobra.Command{
		Use:   "names",
		Short: "list the names that your namespace may use, and the classes",
		Long: `List what the rules of zones give the namespace of -n: patterns of names for Records and for child zones, each with the
contact of the zone; then the DNSClasses that deliver zones of it, as far as you may list them. A rule gives no name at or below a
zone below its own, which decides about these; of one name kubectl kubizone may answers.`,
		Example: "  kubectl kubizone names -n team-a",
		Args:    cobra.NoArgs,
	}, true, q.listNames)
}

func (q *question) listNames(ctx context.Context, s *search, _ []string, out io.Writer) error {
	api, namespace := s.api, s.namespace
	review := &v1alpha1.NameReview{Spec: v1alpha1.NameReviewSpec{View: q.view}}
	review, err := api.NameReviews(namespace).Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("namespace %s: %w", namespace, err)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(review.Status.Rules) == 0 {
		terminal.Fprintf(table, "No rule of a zone gives namespace %s a name.\n", namespace)
	} else {
		terminal.Fprintf(table, "ZONE\tVIEW\tFOR\tPATTERN\tTYPES\tCONTACT\n")
	}
	for i := range review.Status.Rules {
		r := &review.Status.Rules[i]
		none := ""
		if r.Elsewhere {
			none = "none: zones below have them (S2.1)"
		}
		for _, record := range r.Records {
			types := cmp.Or(none, strings.Join(record.Types, ","), "usual (S4.5)")
			terminal.Fprintf(table, "%s\t%s\trecords\t%s\t%s\t%s\n", r.Zone, r.View, record.Pattern, types, r.Contact)
		}
		for _, pattern := range r.Zones {
			terminal.Fprintf(table, "%s\t%s\tzones\t%s\t%s\t%s\n", r.Zone, r.View, pattern, none, r.Contact)
		}
	}
	if n := review.Status.Remaining; n > 0 {
		terminal.Fprintf(table, "and %d more rules\n", n)
	}
	terminal.Fprintf(table, "\n")
	if err := listClasses(ctx, api, namespace, table); err != nil {
		return err
	}
	return table.Flush()
}

// listClasses includes classes whose selector cannot be checked here.
func listClasses(ctx context.Context, api client.KubizoneV1alpha1Interface, namespace string, out io.Writer) error {
	classes, err := api.DNSClasses().List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		_, err := terminal.Fprintf(out, "Which classes there are is not shown: a ClusterRoleBinding to kubizone-class-viewer shows them.\n")
		return err
	}
	if err != nil {
		return fmt.Errorf("DNSClasses: %w", err)
	}
	listed := false
	for i := range classes.Items {
		c := &classes.Items[i]
		bySelector := false
		if of := c.Spec.Namespaces; !class.Admits(c, namespace, nil) {
			if of == nil || of.Selector == nil {
				continue
			}
			bySelector = true
		}
		views := slices.Clone(c.Spec.Views)
		for j, view := range views {
			if view == "" {
				views[j] = `""`
			}
		}
		if !listed {
			listed = true
			terminal.Fprintf(out, "CLASS\tDEFAULT\tPROVIDER\tVIEWS\n")
		}
		terminal.Fprintf(out, "%s\t%v\t%s\t%s", c.Name, class.IsDefault(c), class.ProviderOf(&c.Spec), strings.Join(views, ","))
		if bySelector {
			terminal.Fprintf(out, "\twhere the labels of the namespace are those of its selector")
		}
		terminal.Fprintf(out, "\n")
	}
	if !listed {
		terminal.Fprintf(out, "No class is for zones of namespace %s.\n", namespace)
	}
	return nil
}
