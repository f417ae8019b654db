// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package records decides the writes of Records: the zone that takes a record, and the change of this zone. It also
// decides how a parent zone lists a child's NS, glue and DS.
//
// A decision about a Record takes four steps:
//
//   - find the zone (place.go)
//   - take the former data out of the zone (delta.go)
//   - check the new data: rules, claims, and other data at the name (admission.go, coexistence.go)
//   - compute the next serial and the step for the journal (step.go)
//
// Guarantees:
//
//  1. A record is in at most one zone, and a decision changes one zone (I1).
//  2. After a change of rules or zones, a cascade decides stored records again. A refused record leaves its zone and
//     waits.
//
// Read first: record.go.
package records
