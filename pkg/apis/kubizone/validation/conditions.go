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
	return append(errs, validateEach(list, maxConditions, path, func(c metav1.Condition, at *field.Path) field.ErrorList {
		return validateMessage(c.Message, at.Child("message"))
	})...)
}

func validateMessage(text string, path *field.Path) field.ErrorList {
	return validateLength(text, maxMessage, path)
}

func validateLength(text string, most int, path *field.Path) field.ErrorList {
	if len(text) <= most {
		return nil
	}
	return field.ErrorList{field.TooLong(path, "", most)}
}
