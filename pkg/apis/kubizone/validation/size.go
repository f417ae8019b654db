// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
)

// Limits of an object in octets of stored protobuf with managedFields. Each write of a Record also writes the
// Zone, into etcd's log and every server.
const (
	MaxRecordOctets   = 96 << 10
	MaxZoneOctets     = 96 << 10
	MaxZoneSpecOctets = 64 << 10
	// maxStatusOctets is reserved for the status and its managedFields.
	maxStatusOctets = 16 << 10
)

const (
	splitZone     = "move rules into child zones, or replace several patterns by one with *"
	splitRecord   = "write the values as several Records of the same name and type"
	shortMetadata = "shorten or remove labels, annotations, finalizers and ownerReferences"
	fewManagers   = "let fewer field managers write the object; metadata.managedFields: [{}] in an update clears the list"
)

type partSizes struct {
	metadata, managers, spec, status int
}

func (p partSizes) nonStatus() int { return p.metadata + p.managers + p.spec }

// sizesOf returns the octets of an object's parts in protobuf. managedFields of the status count as status.
func sizesOf(meta *metav1.ObjectMeta, spec, status interface{ Size() int }) partSizes {
	p := partSizes{metadata: meta.Size(), spec: spec.Size(), status: status.Size()}
	for i := range meta.ManagedFields {
		n := meta.ManagedFields[i].Size()
		p.metadata -= n
		if meta.ManagedFields[i].Subresource == "status" {
			p.status += n
		} else {
			p.managers += n
		}
	}
	return p
}

func zoneSizes(zone *v1alpha1.Zone) partSizes {
	if zone == nil {
		return partSizes{}
	}
	return sizesOf(&zone.ObjectMeta, &zone.Spec, &zone.Status)
}

func recordSizes(record *v1alpha1.Record) partSizes {
	if record == nil {
		return partSizes{}
	}
	return sizesOf(&record.ObjectMeta, &record.Spec, &record.Status)
}

func validateOctets(path *field.Path, what string, n, was, limit int, wayOut string) field.ErrorList {
	if n <= limit || n <= was {
		return nil
	}
	err := field.TooLong(path, "", limit)
	err.Detail = fmt.Sprintf("%s takes %d octets when stored, and the limit is %d: %s", what, n, limit, wayOut)
	return field.ErrorList{refusal.Cite("S5.10", err)}
}

func validateSpecAndSize(kind string, is, was partSizes, specLimit, limit int, splitSpec string) field.ErrorList {
	if errs := validateOctets(specPath, "spec", is.spec, was.spec, specLimit, splitSpec); errs != nil {
		return errs
	}
	return validateSize(kind, is, was, limit, splitSpec)
}

// validateSize refuses an object above the limit. The error names the largest part, and the way to make the part
// smaller.
func validateSize(kind string, after, before partSizes, limit int, splitSpec string) field.ErrorList {
	path, wayOut := specPath, splitSpec
	switch max(after.spec, after.metadata, after.managers) {
	case after.metadata:
		path, wayOut = field.NewPath("metadata"), shortMetadata
	case after.managers:
		path, wayOut = field.NewPath("metadata", "managedFields"), fewManagers
	}
	errs := validateOctets(path, "the "+kind+" without its status", after.nonStatus(), before.nonStatus(), limit-maxStatusOctets, wayOut)
	// An update of metadata may declare its managedFields as those of the status.
	return append(errs, validateStatusSize(after, before)...)
}

// ZoneSize refuses a Zone beyond the limits, unless the Zone keeps its size or shrinks. For a new Zone, before is nil.
func ZoneSize(after, before *v1alpha1.Zone) field.ErrorList {
	return validateSpecAndSize("Zone", zoneSizes(after), zoneSizes(before), MaxZoneSpecOctets, MaxZoneOctets, splitZone)
}

func RecordSize(after, before *v1alpha1.Record) field.ErrorList {
	return validateSize("Record", recordSizes(after), recordSizes(before), MaxRecordOctets, splitRecord)
}

func validateStatusSize(after, before partSizes) field.ErrorList {
	return validateOctets(field.NewPath("status"), "status with its managedFields", after.status, before.status, maxStatusOctets,
		"shorten the messages of its conditions, or let fewer field managers write it")
}

// Limits of the status, because every change of content writes the status.
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
