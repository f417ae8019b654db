// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/cmd/kubeconfig"
	"kubi.zone/kubizone/pkg/client/load"
)

type Text struct {
	Name    string
	Content []byte
}

// PlanTexts dry-runs manifests, or zone files for the zone NAMESPACE/NAME. After an error, the Plan is incomplete or
// nil.
func PlanTexts(ctx context.Context, client *rest.Config, namespace, zone string, texts []Text) (*Plan, error) {
	report := newReport()
	c := &config{client: client, load: load.Config{Client: client, Namespace: namespace, FieldManager: FieldManager, DryRun: true}}
	if zone == "" {
		c.load.FieldManager, c.load.AsLastApplied = "kubectl", true
		return c.makePlan(ctx, nil, report, func(loader *load.Loader) (objects []*unstructured.Unstructured, err error) {
			for _, text := range texts {
				objects = append(objects, report.pickObjects(loader, text.Name, text.Content)...)
			}
			return objects, nil
		})
	}
	var err error
	// The options have only the Zone, because a page has no flags.
	if c.target, err = (&options{client: kubeconfig.NewOptions(), zone: zone}).parseTarget(namespace); err != nil {
		return nil, err
	}
	for _, text := range texts {
		c.sources = append(c.sources, source{name: text.Name, content: text.Content})
	}
	return c.makePlan(ctx, nil, report, nil)
}
