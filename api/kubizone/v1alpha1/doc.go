// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 defines the API of kubi.zone/v1alpha1: Zone, Record, Delegation, DNSClass, Delivery, UpdateKey; the
// computed subresources ZoneEntries and ZoneChanges; the requests ChangeSet, NameReview and UpdateRequest.
//
// Guarantees: (1) `kubectl explain` prints each field's format, unit, default and source; (2) every condition type and
// reason has a constant in conditions.go; (3) the JSON of an accepted object keeps its meaning; (4) exported names
// change only as docs/support.md allows.
//
// Read record_types.go first, then zone_types.go.
//
// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=zone.kubi.v1alpha1
// +groupName=kubi.zone
// +groupGoName=Kubizone
package v1alpha1
