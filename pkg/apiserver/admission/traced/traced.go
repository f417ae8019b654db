// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package traced

import (
	"context"

	"k8s.io/apiserver/pkg/admission"

	"kubi.zone/kubizone/pkg/kit/traces"
)

// Chain records spans for a chain of plugins.
type Chain struct{ admission.Interface }

func (t Chain) Admit(ctx context.Context, of admission.Attributes, objects admission.ObjectInterfaces) error {
	chain, ok := t.Interface.(admission.MutationInterface)
	if !ok {
		return nil
	}
	ctx, span := traces.Start(ctx, "Admission mutating")
	err := chain.Admit(ctx, of, objects)
	traces.End(span, err != nil, "refused")
	return err
}

func (t Chain) Validate(ctx context.Context, of admission.Attributes, objects admission.ObjectInterfaces) error {
	chain, ok := t.Interface.(admission.ValidationInterface)
	if !ok {
		return nil
	}
	ctx, span := traces.Start(ctx, "Admission validating")
	err := chain.Validate(ctx, of, objects)
	traces.End(span, err != nil, "refused")
	return err
}
