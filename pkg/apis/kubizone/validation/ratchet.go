// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

var listIndex = regexp.MustCompile(`\[\d+\]`)

// onlyNewErrors returns the errors of now that before did not have. A stored object that a stricter release refuses can
// still be changed in other fields.
func onlyNewErrors(now field.ErrorList, before func() field.ErrorList) field.ErrorList {
	if len(now) == 0 {
		return nil
	}
	// Count equal errors: a list may have the same fault at several elements, and gets no further one.
	former := map[string]int{}
	tooMany := map[string]int{}
	for _, err := range before() {
		if n, ok := err.BadValue.(int); ok && err.Type == field.ErrorTypeTooMany {
			tooMany[err.Field] = n
		}
		former[fingerprint(err)]++
	}
	var left field.ErrorList
	for _, err := range now {
		// A list above its limit may stay.
		if n, ok := err.BadValue.(int); ok && err.Type == field.ErrorTypeTooMany && n <= tooMany[err.Field] {
			continue
		}
		if key := fingerprint(err); former[key] > 0 {
			former[key]--
			continue
		}
		left = append(left, err)
	}
	return left
}

func fingerprint(err *field.Error) string {
	return fmt.Sprintf("%s\x00%s\x00%v\x00%s", err.Type, listIndex.ReplaceAllString(err.Field, "[]"), err.BadValue, err.Detail)
}
