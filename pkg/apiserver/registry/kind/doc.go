// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kind implements the REST storage that all kinds of the API share: create, update, delete, list, watch and
// subresources. A Kind, such as record.Kind, declares the differences, such as validation and columns.
//
// Guarantees:
//
//  1. A write silently keeps the fields set by the server. metadata.generation counts changes of spec (S7.4).
//  2. A new object has Ready=Unknown until judged (S7.11). A controller's Ready for an older serial is not stored
//     (S6.13).
//  3. A write of a subresource changes only its fields. The subresource finalizers only adds or removes
//     kubi.zone/delivery.
//  4. A dry run returns the object or error of the write (S7.3).
//  5. An answer 422 has the rule cited by each error as a cause (package refusal).
//
// Read kind.go first, then strategy.go and merge.go.
package kind
