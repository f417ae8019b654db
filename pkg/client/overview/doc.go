// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package overview reads the present state of zones, Records and servers from the API, for kubectl kubizone status,
// doctor and the console.
//
// Guarantees:
//
//  1. Requests have the rights of the user. Unread names each list without an answer; the other lists are complete,
//     except those in Partial.
//  2. Each program shows the same State of a zone, by StateOf.
//
// Read first: read.go, judge.go, overview.go, state.go.
package overview
