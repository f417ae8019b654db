// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	client "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/client/find"
	"kubi.zone/kubizone/pkg/client/why"
)

func Results() map[string]any {
	return map[string]any{"NameAnswer": nameAnswer{}, "Names": namesAnswer{}, "Records": foundRecords{}, "ZoneTree": zoneTree{},
		"Chain": why.Chain{}}
}

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

type nameAnswer struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Type      string   `json:"type"`
	Allowed   bool     `json:"allowed"`
	Zone      string   `json:"zone,omitempty"`
	Rule      string   `json:"rule,omitempty"`
	Reason    string   `json:"reason,omitempty"`
	Claimed   string   `json:"claimed,omitempty"`
	Contact   string   `json:"contact,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
}

// askMay asks the server by a NameReview, and answers "no" with the server's reason. The error is set if the user may
// not ask.
func (q *question) askMay(ctx context.Context, of *find.Search, arguments []string) (*answer, error) {
	name, namespace := arguments[1], of.Namespace
	review := &v1alpha1.NameReview{Spec: v1alpha1.NameReviewSpec{Name: name, Type: arguments[2], View: q.view}}
	review, err := of.API.NameReviews(namespace).Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("namespace %s, name %s: %w", namespace, name, err)
	}
	s := &review.Status
	result := nameAnswer{namespace, name, strings.ToUpper(arguments[2]), s.Allowed, s.Zone, s.Rule, s.Reason, string(s.Claimed), s.Contact,
		s.Warnings}
	return &answer{kind: "NameAnswer", result: result, no: noIf(!s.Allowed), text: func(text *output.Text) {
		if s.Allowed {
			text.Line("yes: zone %s gives %s to namespace %s by the rule %q", s.Zone, name, namespace, s.Rule)
		} else {
			text.Line("no: %s", s.Reason)
		}
		if s.Claimed != "" {
			text.Line("claimed: %s", s.Claimed)
		}
		if s.Allowed && s.Contact != "" { // a refusal ends with the contact
			text.Line("contact: %s", s.Contact)
		}
		for _, warning := range s.Warnings {
			text.Line("warning: %s", warning)
		}
	}}, nil
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

type namesAnswer struct {
	Namespace string                    `json:"namespace"`
	Rules     []v1alpha1.NameReviewRule `json:"rules"`
	// Remaining counts further rules.
	Remaining     int64        `json:"remaining,omitempty"`
	Classes       []namedClass `json:"classes"`
	HiddenClasses bool         `json:"hiddenClasses,omitempty"`
}

type namedClass struct {
	Name     string   `json:"name"`
	Default  bool     `json:"default"`
	Provider string   `json:"provider"`
	Views    []string `json:"views,omitempty"`
	// BySelector is true if the class selects namespaces by labels, not compared here.
	BySelector bool `json:"bySelector,omitempty"`
}

func (q *question) listNames(ctx context.Context, s *find.Search, _ []string) (*answer, error) {
	api, namespace := s.API, s.Namespace
	review := &v1alpha1.NameReview{Spec: v1alpha1.NameReviewSpec{View: q.view}}
	review, err := api.NameReviews(namespace).Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("namespace %s: %w", namespace, err)
	}
	result := &namesAnswer{Namespace: namespace, Rules: review.Status.Rules, Remaining: int64(review.Status.Remaining)}
	if err := result.addClasses(ctx, api); err != nil {
		return nil, err
	}
	return &answer{kind: "Names", result: result, text: result.printText}, nil
}

// addClasses adds the DNSClasses for zones of the namespace. Without the right to list classes, HiddenClasses is set.
func (a *namesAnswer) addClasses(ctx context.Context, api client.KubizoneV1alpha1Interface) error {
	classes, err := api.DNSClasses().List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		a.HiddenClasses = true
		return nil
	}
	if err != nil {
		return fmt.Errorf("DNSClasses: %w", err)
	}
	for i := range classes.Items {
		c := &classes.Items[i]
		bySelector := false
		if of := c.Spec.Namespaces; !class.Admits(c, a.Namespace, nil) {
			// The class is for other namespaces.
			if of == nil || of.Selector == nil {
				continue
			}
			// The labels of the namespace are not read, so the answer has the condition.
			bySelector = true
		}
		a.Classes = append(a.Classes, namedClass{c.Name, class.IsDefault(c), class.ProviderOf(&c.Spec), c.Spec.Views, bySelector})
	}
	return nil
}

func (a *namesAnswer) printText(text *output.Text) {
	a.printRules(text)
	text.Line("")
	a.printClasses(text)
}

// printRules prints a row for each pattern of a rule.
func (a *namesAnswer) printRules(text *output.Text) {
	var rows [][]string
	for i := range a.Rules {
		r := &a.Rules[i]
		none := ""
		// A rule for *.apps gives nothing if apps.example.org. is a zone of its own.
		if r.Elsewhere {
			none = "none: zones below have them (S2.1)"
		}
		for _, record := range r.Records {
			types := cmp.Or(none, strings.Join(record.Types, ","), "usual (S4.5)")
			rows = append(rows, []string{r.Zone, r.View, "records", record.Pattern, types, r.Contact})
		}
		for _, pattern := range r.Zones {
			rows = append(rows, []string{r.Zone, r.View, "zones", pattern, none, r.Contact})
		}
	}
	if len(rows) == 0 {
		text.Line("No rule of a zone gives namespace %s a name.", a.Namespace)
	} else {
		text.Table([]string{"ZONE", "VIEW", "FOR", "PATTERN", "TYPES", "CONTACT"}, rows)
	}
	// The server limits the rules of an answer.
	if a.Remaining > 0 {
		text.Line("and %d more rules", a.Remaining)
	}
}

// printClasses prints a row for each class.
func (a *namesAnswer) printClasses(text *output.Text) {
	var rows [][]string
	for _, c := range a.Classes {
		note := ""
		if c.BySelector {
			note = "where the labels of the namespace are those of its selector"
		}
		rows = append(rows, []string{c.Name, fmt.Sprint(c.Default), c.Provider, showViews(c.Views), note})
	}
	switch {
	case a.HiddenClasses:
		text.Line("Which classes there are is not shown: a ClusterRoleBinding to kubizone-class-viewer shows them.")
	case len(rows) == 0:
		text.Line("No class is for zones of namespace %s.", a.Namespace)
	default:
		text.Table([]string{"CLASS", "DEFAULT", "PROVIDER", "VIEWS", ""}, rows)
	}
}

// showViews returns views as a cell of a table. The default view is the empty text, which a table would not show.
func showViews(views []string) string {
	shown := slices.Clone(views)
	for i, view := range views {
		shown[i] = cmp.Or(view, `""`)
	}
	return strings.Join(shown, ",")
}
