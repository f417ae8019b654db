// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/pkg/apis/refusal"
)

// validationErrors keeps a request's validation errors, because the generic store's answer lacks the rules that they
// cite.
type validationErrors struct{ list field.ErrorList }

type errorsKey struct{}

func withErrors(ctx context.Context) (context.Context, *validationErrors) {
	errs := &validationErrors{}
	return context.WithValue(ctx, errorsKey{}, errs), errs
}

func noteErrors(ctx context.Context, list field.ErrorList) field.ErrorList {
	if errs, ok := ctx.Value(errorsKey{}).(*validationErrors); ok {
		errs.list = list
	}
	return list
}

func (v *validationErrors) addRules(answer error) {
	var status *apierrors.StatusError
	if len(v.list) > 0 && errors.As(answer, &status) {
		refusal.AddCited(&status.ErrStatus, v.list)
	}
}
