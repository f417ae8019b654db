// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Limits of the status that controllers write: a Zone is written with every change of its content, so it has to stay
// small (S6.13).
const (
	maxConditions = 8
	maxMessage    = 1024
)

func validateConditions(list []metav1.Condition, path *field.Path) field.ErrorList {
	errs := metavalidation.ValidateConditions(list, path)
	if len(list) > maxConditions {
		errs = append(errs, field.TooMany(path, len(list), maxConditions))
	}
	for i := range list {
		if len(list[i].Message) > maxMessage {
			errs = append(errs, field.TooLong(path.Index(i).Child("message"), "", maxMessage))
		}
	}
	return errs
}
