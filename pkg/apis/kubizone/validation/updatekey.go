// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

const (
	MaxUpdateKeyRecords = 16
	// MaxUpdateKeyOctets bounds the stored size, half of this the spec.
	MaxUpdateKeyOctets = 32 << 10
	// maxRecordsExpireAfter is ten years.
	maxRecordsExpireAfter = 87600 * time.Hour
)

func UpdateKey(key *v1alpha1.UpdateKey) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&key.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	errs = append(errs, updateKeySize(key, nil)...)
	return append(errs, validateUpdateKeySpec(key)...)
}

func UpdateKeyUpdate(after, before *v1alpha1.UpdateKey) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&after.ObjectMeta, &before.ObjectMeta, field.NewPath("metadata"))
	if after.Spec.View != before.Spec.View {
		errs = append(errs, refusal.Cite("S13.1",
			field.Invalid(specPath.Child("view"), after.Spec.View, fmt.Sprintf("is immutable, and was %q: make another "+
				"UpdateKey and delete this one", before.Spec.View))))
	}
	errs = append(errs, updateKeySize(after, before)...)
	return append(errs, onlyNewErrors(validateUpdateKeySpec(after), func() field.ErrorList { return validateUpdateKeySpec(before) })...)
}

// UpdateKeyStatusUpdate validates a status. The key's name cannot change after its first use.
func UpdateKeyStatusUpdate(after, before *v1alpha1.UpdateKey) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&after.ObjectMeta, &before.ObjectMeta, field.NewPath("metadata"))
	path := field.NewPath("status")
	if was := before.Status.KeyName; was != "" && after.Status.KeyName != was {
		errs = append(errs, refusal.Cite("S13.3",
			field.Invalid(path.Child("keyName"), cut(after.Status.KeyName), fmt.Sprintf("was %q, and is immutable: create another "+
				"UpdateKey for a key of another name", was))))
	}
	errs = append(errs, updateKeySize(after, before)...)
	return append(errs, metav1validation.ValidateConditions(after.Status.Conditions, path.Child("conditions"))...)
}

func updateKeySize(after, before *v1alpha1.UpdateKey) field.ErrorList {
	is, was := sizesOf(&after.ObjectMeta, &after.Spec, &after.Status), partSizes{}
	if before != nil {
		was = sizesOf(&before.ObjectMeta, &before.Spec, &before.Status)
	}
	return validateSpecAndSize("UpdateKey", is, was, MaxUpdateKeyOctets/2, MaxUpdateKeyOctets, "write several UpdateKeys")
}

// validateUpdateKeySpec validates the spec without any zone: a key may be created before its zones.
func validateUpdateKeySpec(key *v1alpha1.UpdateKey) field.ErrorList {
	spec := &key.Spec
	errs := validateObjectName(spec.TSIGSecretRef.Name, "the metadata.name of a Secret in the namespace of the UpdateKey",
		specPath.Child("tsigSecretRef", "name"))
	errs = append(errs, validateView(spec.View)...)
	records := specPath.Child("records")
	if len(spec.Records) == 0 {
		errs = append(errs, refusal.Cite("S13.1", field.Required(records, "the names that the key may write, with their types")))
	}
	errs = append(errs, validateEach(spec.Records, MaxUpdateKeyRecords, records, validateUpdateKeyRecords)...)
	// The empty value is None.
	switch spec.Transfer {
	case "", v1alpha1.UpdateTransferNone, v1alpha1.UpdateTransferOwn, v1alpha1.UpdateTransferZone:
	default:
		errs = append(errs, field.NotSupported(specPath.Child("transfer"), spec.Transfer,
			[]v1alpha1.UpdateTransfer{v1alpha1.UpdateTransferNone, v1alpha1.UpdateTransferOwn, v1alpha1.UpdateTransferZone}))
	}
	if d := spec.RecordsExpireAfter; d != nil && (d.Duration < time.Minute || d.Duration > maxRecordsExpireAfter ||
		d.Duration%time.Second != 0) {
		errs = append(errs, refusal.Cite("S13.17", field.Invalid(specPath.Child("recordsExpireAfter"), d.Duration.String(),
			"must be whole seconds from 1m to 87600h")))
	}
	return errs
}

func validateUpdateKeyRecords(records v1alpha1.UpdateKeyRecords, path *field.Path) field.ErrorList {
	errs := validatePattern(records.Pattern, path.Child("pattern"))
	if len(errs) == 0 && !name.IsAbsolute(records.Pattern) {
		errs = append(errs, field.Invalid(path.Child("pattern"), cut(records.Pattern),
			`is relative, and an UpdateKey has no zone to complete it; write it with a dot at its end ("*.apps.example.org.")`))
	}
	return append(errs, validateEach(records.Types, 100, path.Child("types"), func(text string, at *field.Path) field.ErrorList {
		_, err := rdata.ParseType(text)
		return rejectError(text, err, at)
	})...)
}

// UpdateKeyWarnings warns of each pattern without a matching rule for the namespace, and of repeated patterns.
func UpdateKeyWarnings(key *v1alpha1.UpdateKey, rules []v1alpha1.NameReviewRule) (warnings []string) {
	for i, r := range key.Spec.Records {
		if !slices.ContainsFunc(rules, func(rule v1alpha1.NameReviewRule) bool {
			return rule.View == key.Spec.View && !rule.Elsewhere && mayMeet(r.Pattern, &rule)
		}) {
			warnings = append(warnings, refusal.Warning("S13.1", fmt.Sprintf("spec.records[%d].pattern: no rule gives namespace %s a "+
				"name that %q matches, so updates of such names are REFUSED; kubectl kubizone names -n %s lists its rules, and the "+
				"owner of a zone adds one", i, key.Namespace, r.Pattern, key.Namespace)))
		}
	}
	return append(warnings, repeatWarnings(key.Spec.Records, "spec.records", func(r v1alpha1.UpdateKeyRecords) string {
		return patternKey(r.Pattern, r.Types)
	})...)
}

// mayMeet reports whether a pattern of an UpdateKey and a rule may match a common name. The result may be true without
// a common name, so a Warning is never wrong.
func mayMeet(text string, rule *v1alpha1.NameReviewRule) bool {
	zone, _ := name.Parse(rule.Zone)
	wanted, err := pattern.Parse(text)
	if err != nil || !wanted.CanMatch(zone) {
		return false
	}
	// A pattern without * has a single name, so the answer is exact.
	only, literal := wanted.LiteralName(zone)
	tail := name.Apex
	// Of *.apps.example.org. all names are below apps.
	if at, err := name.Parse(behindStar(text)); err == nil {
		if below, ok := at.Rel(zone); ok {
			tail = below
		}
	}
	return slices.ContainsFunc(rule.Records, func(r v1alpha1.RecordDelegation) bool {
		given, err := pattern.Parse(r.Pattern)
		switch {
		case err != nil:
			return false
		case literal:
			return given.Match(only, zone)
		default:
			return given.MayMatchBelow(tail, zone)
		}
	})
}

func behindStar(text string) string {
	at := strings.LastIndexByte(text, '*')
	_, behind, _ := strings.Cut(text[at+1:], ".")
	if at < 0 {
		return text
	} else if behind == "" {
		return "."
	}
	return behind
}
