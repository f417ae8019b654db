// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/pkg/refusal"
)

// validationErrors are the last ones of a write. The generic store makes an answer of them that has not their rules.
type validationErrors struct{ list field.ErrorList }

// errorsKey is the context key of the validationErrors of a write.
type errorsKey struct{}

// withErrors returns a context whose strategies note their errors.
func withErrors(ctx context.Context) (context.Context, *validationErrors) {
	errs := &validationErrors{}
	return context.WithValue(ctx, errorsKey{}, errs), errs
}

// noteErrors returns the errors of a validation, which it notes for the write of ctx.
func noteErrors(ctx context.Context, list field.ErrorList) field.ErrorList {
	if errs, ok := ctx.Value(errorsKey{}).(*validationErrors); ok {
		errs.list = list
	}
	return list
}

// addRules adds the rules of the noted errors to the causes of the answer that the store made of them.
func (v *validationErrors) addRules(answer error) {
	var status *apierrors.StatusError
	if len(v.list) > 0 && errors.As(answer, &status) {
		refusal.AddCited(&status.ErrStatus, v.list)
	}
}
