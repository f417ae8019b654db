// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
)

// What one object takes as it is stored, in octets of its protobuf form, managedFields included (S5.6). Each write of
// a Record also writes its Zone, and both stay in etcd's log and in the memory of every server for a while. So the
// size of an object bounds what one small write costs everybody.
const (
	MaxRecordOctets = 96 << 10
	MaxZoneOctets   = 96 << 10
	// MaxZoneSpecOctets is the part of it that a Zone's spec may take.
	MaxZoneSpecOctets = 64 << 10
	// maxStatusOctets is the part of it that is kept for the status and for the managedFields of its writers: a full
	// spec must not keep controllers from saying how an object is.
	maxStatusOctets = 16 << 10
)

// The ways out of an object that is too large.
const (
	splitZone     = "delegate names to child zones and give those the rules, or replace several patterns by one with *"
	splitRecord   = "write the values as several Records of the same name and type"
	shortMetadata = "shorten or remove labels, annotations, finalizers and ownerReferences"
	fewManagers   = "let fewer field managers write the object; metadata.managedFields: [{}] in an update forgets those it has"
)

// parts are the sizes of an object's parts.
type parts struct {
	metadata, managers, spec, status int
}

func (p parts) written() int { return p.metadata + p.managers + p.spec }

func partsOf(meta *metav1.ObjectMeta, spec, status interface{ Size() int }) parts {
	p := parts{metadata: meta.Size(), spec: spec.Size(), status: status.Size()}
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

func zoneParts(zone *v1alpha1.Zone) parts {
	if zone == nil {
		return parts{}
	}
	return partsOf(&zone.ObjectMeta, &zone.Spec, &zone.Status)
}

func recordParts(record *v1alpha1.Record) parts {
	if record == nil {
		return parts{}
	}
	return partsOf(&record.ObjectMeta, &record.Spec, &record.Status)
}

// atMostOctets is the error at a field that has n octets of at most limit; nil where it fits or is not larger than it
// was.
func atMostOctets(path *field.Path, what string, n, was, limit int, wayOut string) field.ErrorList {
	if n <= limit || n <= was {
		return nil
	}
	err := field.TooLong(path, "", limit)
	err.Detail = fmt.Sprintf("%s takes %d octets as it is stored, and may take %d (S5.6): %s", what, n, limit, wayOut)
	return field.ErrorList{err}
}

// size reports the parts of an object that are too large, by the field of the largest.
func size(kind string, after, before parts, limit int, splitSpec string) field.ErrorList {
	path, wayOut := specPath, splitSpec
	switch max(after.spec, after.metadata, after.managers) {
	case after.metadata:
		path, wayOut = field.NewPath("metadata"), shortMetadata
	case after.managers:
		path, wayOut = field.NewPath("metadata", "managedFields"), fewManagers
	}
	errs := atMostOctets(path, "the "+kind+" without its status", after.written(), before.written(), limit-maxStatusOctets, wayOut)
	return append(errs, statusSize(after, before)...) // in an update of metadata, managedFields may say that they are those of a status
}

// ZoneSize reports a Zone that is too large. before is nil for a new one; one that was too large may stay as large,
// or shrink.
func ZoneSize(after, before *v1alpha1.Zone) field.ErrorList {
	is, was := zoneParts(after), zoneParts(before)
	if errs := atMostOctets(specPath, "spec", is.spec, was.spec, MaxZoneSpecOctets, splitZone); errs != nil {
		return errs
	}
	return size("Zone", is, was, MaxZoneOctets, splitZone)
}

// RecordSize is ZoneSize for a Record.
func RecordSize(after, before *v1alpha1.Record) field.ErrorList {
	return size("Record", recordParts(after), recordParts(before), MaxRecordOctets, splitRecord)
}

// statusSize reports a status that is too large with the managedFields of its writers.
func statusSize(after, before parts) field.ErrorList {
	return atMostOctets(field.NewPath("status"), "status with its managedFields", after.status, before.status, maxStatusOctets, "shorten the messages of its conditions, or let fewer field managers write it")
}
