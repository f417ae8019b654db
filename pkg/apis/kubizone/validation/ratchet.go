// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"regexp"
	"slices"

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
	former, longest := map[string]int{}, map[string]int{}
	for _, err := range before() {
		longest[err.Field] = max(longest[err.Field], excessOf(err))
		former[fingerprint(err)]++
	}
	return slices.DeleteFunc(now, func(err *field.Error) bool {
		key := fingerprint(err)
		former[key]--
		n := excessOf(err)
		// A list above its limit may stay.
		return former[key] >= 0 || n > 0 && n <= longest[err.Field]
	})
}

// excessOf returns the length of a list that is too long, or 0 for another error.
func excessOf(err *field.Error) int {
	if err.Type != field.ErrorTypeTooMany {
		return 0
	}
	n, _ := err.BadValue.(int)
	return n
}

func fingerprint(err *field.Error) string {
	return fmt.Sprintf("%s\x00%s\x00%v\x00%s", err.Type, listIndex.ReplaceAllString(err.Field, "[]"), err.BadValue, err.Detail)
}
