// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/dns/name"
)

// NameReview validates a NameReview, the question whether a namespace may create a Record. The result is the Record
// without data, or nil if the review asks for the namespace's rules.
func NameReview(review *v1alpha1.NameReview) (*v1alpha1.RecordSpec, field.ErrorList) {
	asked, path := &review.Spec, specPath.Child("name")
	errs := validateView(asked.View)
	if asked.Name == "" {
		if asked.Type != "" {
			errs = append(errs, refusal.Cite("S14.3",
				field.Required(path, "the name of the Record; drop spec.type to list the rules for the namespace")))
		}
		return nil, errs
	}
	record := &v1alpha1.RecordSpec{DomainName: asked.Name, View: asked.View, Type: asked.Type}
	// A NameReview has no zoneRef, so each name is absolute, with or without its dot.
	if !name.IsAbsolute(record.DomainName) {
		record.DomainName += "."
	}
	errs = append(errs, validateDomainName(record.DomainName, nil, path)...)
	rrtype, wrong := validateType(asked.Type)
	if errs = append(errs, wrong...); len(errs) > 0 {
		return nil, errs
	}
	return record, validateTypeAtName(record, rrtype, path)
}
