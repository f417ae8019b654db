// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apis has the vocabulary of the API: defaults and conversion of the types, validation of a single object,
// names and name patterns, reasons of conditions, texts of refusals, and the one form in which clients send changes
// (rrsets). The types themselves are the module api.
//
// For: servers that accept objects, and clients that write them.
//
// Guarantees:
//  1. Every function depends on its arguments alone. A check that needs a second object belongs to zone/law.
//  2. Server and client get the same answer, because both call these packages.
//
// Imports: kit, dns. Read first: kubizone/validation/doc.go, refusal/doc.go.
package apis
