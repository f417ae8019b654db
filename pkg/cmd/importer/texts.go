// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"context"
	"errors"

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

// Plan is the answer of PlanTexts.
type Plan interface {
	Sections() []Section
	Summary() string
}

// PlanTexts returns the effect of manifests on zones, or of zone files on the zone NAMESPACE/NAME, and writes nothing.
// The Plan is nil if nothing could be asked.
func PlanTexts(ctx context.Context, client *rest.Config, namespace, zone string, texts []Text) (Plan, error) {
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
