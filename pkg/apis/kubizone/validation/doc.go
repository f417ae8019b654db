// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation checks the fields of an API object, such as a Record, before the API server stores it. No other
// object is needed, so kubectl kubizone lint can call the package without a server.
//
// Guarantees:
//  1. All errors are reported at once. Each names the field, the rule and the remedy.
//  2. No content causes a panic.
//  3. An update is never refused for an unchanged value, so an object older than a rule can be repaired.
//  4. A valid value that is probably a mistake causes a warning, never an error.
//
// Read record.go first.
package validation
