// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the API types of kubi.zone/v1alpha1: Zone, Record, Delegation, DNSClass, Delivery, and the
// two computed subresources of a Zone, ZoneEntries and ZoneChanges.
//
// It promises: (1) the comment of a field is what `kubectl explain` prints, with format, unit, default and source;
// (2) every condition type and reason of this group is a constant of conditions.go; (3) JSON of an accepted object
// never changes its meaning; (4) what is exported goes or changes as docs/support.md says.
//
// It does not know DNS: it parses, validates and decides nothing. It sets no defaults: the server does, on every
// write. It imports apimachinery alone, because clients vendor it.
//
// Read record_types.go first, then zone_types.go.
//
// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=zone.kubi.v1alpha1
// +groupName=kubi.zone
// +groupGoName=Kubizone
package v1alpha1
