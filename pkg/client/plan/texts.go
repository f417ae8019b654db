// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kubi.zone/kubizone/pkg/client/load"
)

type Text struct {
	Name    string
	Content []byte
}

// OfManifests plans an apply of the texts by kubectl.
func OfManifests(ctx context.Context, with load.Config, texts []Text) (*Plan, error) {
	r := New()
	with.DryRun, with.FieldManager, with.AsLastApplied = true, "kubectl", true
	return r.MakeOf(ctx, with, func(loader *load.Loader) (objects []*unstructured.Unstructured, err error) {
		for _, text := range texts {
			objects = append(objects, r.PickObjects(loader, text.Name, text.Content)...)
		}
		return objects, nil
	})
}

// OfZoneFiles plans an import of the texts into a zone.
func OfZoneFiles(ctx context.Context, with load.Config, zone load.Target, texts []Text) (*Plan, error) {
	with.DryRun = true
	return New().Make(ctx, with, func(loader *load.Loader) (total load.Result, failed []error) {
		for _, text := range texts {
			result, err := loader.Import(ctx, text.Name, text.Content, zone)
			total.Add(result)
			if err != nil {
				failed = append(failed, err)
				// The server does not answer, or rejects the user: every other text would fail too.
				if load.StopsAll(ctx, err) {
					return total, failed
				}
			}
		}
		result, err := loader.Finish(ctx, "")
		total.Add(result)
		return total, append(failed, err)
	})
}
