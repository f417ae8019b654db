// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
)

const (
	// MaxDelegationNamespaces is low, because a write of a Delegation also writes each namespace's rules.
	MaxDelegationNamespaces = 16
	// MaxDelegationOctets bounds the stored size, half of this the spec.
	MaxDelegationOctets = 64 << 10
)

const splitDelegation = "write several Delegations, or replace several patterns by one with *"

func Delegation(delegation *v1alpha1.Delegation) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&delegation.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	errs = append(errs, DelegationSize(delegation, nil)...)
	return append(errs, validateDelegationSpec(delegation)...)
}

func DelegationUpdate(after, before *v1alpha1.Delegation) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&after.ObjectMeta, &before.ObjectMeta, field.NewPath("metadata"))
	if after.Spec.ZoneRef != before.Spec.ZoneRef {
		errs = append(errs, refusal.Cite("S4.3", field.Invalid(specPath.Child("zoneRef", "name"), after.Spec.ZoneRef.Name,
			fmt.Sprintf("is immutable, and was %q: one write changes one zone; make another Delegation and delete this one",
				before.Spec.ZoneRef.Name))))
	}
	errs = append(errs, DelegationSize(after, before)...)
	return append(errs, onlyNewErrors(validateDelegationSpec(after),
		func() field.ErrorList { return validateDelegationSpec(before) })...)
}

func DelegationSize(after, before *v1alpha1.Delegation) field.ErrorList {
	is, was := sizesOf(&after.ObjectMeta, &after.Spec, &after.Status), partSizes{}
	if before != nil {
		was = sizesOf(&before.ObjectMeta, &before.Spec, &before.Status)
	}
	return validateSpecAndSize("Delegation", is, was, MaxDelegationOctets/2, MaxDelegationOctets, splitDelegation)
}

// validateDelegationSpec validates the spec, and the annotation release-now. Whether the Zone exists is not asked: a
// Delegation may come first (S4.3).
func validateDelegationSpec(delegation *v1alpha1.Delegation) field.ErrorList {
	spec := &delegation.Spec
	errs := validateReleaseNow(delegation)
	errs = append(errs, validateObjectName(spec.ZoneRef.Name, "the metadata.name of a Zone in the namespace of the Delegation",
		specPath.Child("zoneRef", "name"))...)
	path := specPath.Child("namespaces")
	if len(spec.Namespaces) == 0 {
		errs = append(errs, refusal.Cite("S4.2",
			field.Required(path, "name the namespaces that the rule is for; a rule for every namespace is an element of "+
				"spec.delegations of the Zone")))
	}
	errs = append(errs, validateNamespaces(spec.Namespaces, MaxDelegationNamespaces, path)...)
	errs = append(errs, validateRule(spec.Records, spec.Zones, spec.DS, specPath)...)
	for i := range spec.Records {
		if spec.Records[i].Shared {
			errs = append(errs, refusal.Cite("S4.3", field.Invalid(specPath.Child("records").Index(i).Child("shared"), true,
				"is only for rules of the Zone, which list all namespaces that share a name: write the rule in spec.delegations of the "+
					"Zone")))
		}
	}
	return errs
}
