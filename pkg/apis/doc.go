// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apis has the vocabulary of the API. kubizone, bind9, acme and openapi register types, defaults and validation
// of a single object; the types are the module api, but for those of acme. decoding explains requests that do not
// decode. pattern, objectname, precedence, reasons, refusal and alarm are names and texts; rrsets sends changes to the
// API in one way.
//
// For: servers that accept objects, and clients that write them.
//
// Guarantees:
//  1. Every function but those of rrsets depends on its arguments alone. A check that needs a second object belongs to
//     zone/law.
//  2. Server and client get the same answer, because both call these packages.
//
// Imports: kit, dns. Read first: kubizone/validation/doc.go, refusal/doc.go.
package apis
