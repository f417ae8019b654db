// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Field selectors besides metadata.name and metadata.namespace.
const (
	FieldZoneFQDN = "status.fqdn"
	FieldZoneView = "spec.view"

	FieldRecordType        = "spec.type"
	FieldRecordZoneRefName = "spec.zoneRef.name"
	FieldRecordFQDN        = "status.fqdn"
	// FieldRecordZone is `<namespace>/<name>` of the adopting zone.
	FieldRecordZone = "status.zone"
	// FieldRecordAdopted is "True" while a zone has the Record, else "False". Selectors ignore the case of this field,
	// FieldRecordReady and FieldRecordWithdrawn.
	FieldRecordAdopted = "status.adopted"
	// FieldRecordReady is "True", "False" or "Unknown", as the condition Ready of the present generation.
	FieldRecordReady = "status.ready"
	// FieldRecordWithdrawn is "True" while the Record has status.endsAt, else "False".
	FieldRecordWithdrawn = "status.withdrawn"

	FieldDelegationZoneRefName = "spec.zoneRef.name"

	FieldDeliveryZoneName     = "spec.zone.name"
	FieldDeliveryClassRefName = "spec.classRef.name"
)
