// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/pkg/cmd/kubeconfig"
	"kubi.zone/kubizone/pkg/load"
)

// Text is a manifest or a zone file.
type Text struct {
	Name    string
	Content []byte
}

// Section is a part of a plan in a pull request.
type Section struct {
	Title    string
	Language string
	Lines    []string
	// Classes and Held are as in ZonePlan; "" without a zone.
	Classes, Held string
}

// Sections divides the plan for a comment in a pull request: a section for each zone, then changes outside all zones,
// then refusals and warnings.
func (r *Plan) Sections() (sections []Section) {
	plain := func(text string) string { return text }
	for _, z := range r.Zones {
		sections = append(sections, Section{"Zone " + z.title(plain), "diff", linesOf(z.Changes), z.describeClasses(), z.Held})
	}
	if len(r.Others) > 0 {
		sections = append(sections, Section{Title: "In no zone", Language: "diff", Lines: linesOf(r.Others)})
	}
	if len(r.Notes) > 0 {
		sections = append(sections, Section{Title: "Refusals and warnings", Language: "text", Lines: linesOf(r.Notes)})
	}
	return sections
}

func linesOf[T fmt.Stringer](all []T) (lines []string) {
	for _, one := range all {
		lines = append(lines, one.String())
	}
	return lines
}

// PlanTexts dry-runs manifests, or zone files for the zone NAMESPACE/NAME. With an error, the Plan is incomplete or
// nil.
func PlanTexts(ctx context.Context, client *rest.Config, namespace, zone string, texts []Text) (*Plan, error) {
	report := newReport()
	c := load.Config{Client: client, Namespace: namespace, FieldManager: FieldManager, DryRun: true, Plan: report.addChange,
		Note: report.addNote}
	var target load.Target
	if zone == "" {
		c.FieldManager, c.AsLastApplied = "kubectl", true
	} else {
		var err error
		if target, err = (&options{client: kubeconfig.NewOptions(), zone: zone}).parseTarget(namespace); err != nil {
			return nil, err
		}
	}
	loader, err := load.New(c)
	if err != nil {
		return nil, err
	}
	var failed []error
	if zone == "" {
		var objects []*unstructured.Unstructured
		for _, text := range texts {
			objects = append(objects, report.pickObjects(loader, text.Name, text.Content)...)
		}
		report.Counts, err = loader.Apply(ctx, "plan", objects)
		failed = append(failed, err)
	} else {
		for _, text := range texts {
			one, err := loader.Import(ctx, text.Name, text.Content, target)
			report.Counts.Add(one)
			failed = append(failed, err)
		}
		one, err := loader.Finish(ctx, "")
		report.Counts.Add(one)
		failed = append(failed, err)
	}
	report.Counts.Refused += report.unread
	objects, err := versioned.NewForConfig(client)
	if err == nil {
		err = report.completeReport(ctx, objects)
	}
	return report, errors.Join(append(failed, err)...)
}
