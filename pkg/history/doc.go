// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history reads the past of a zone from the API, rebuilds its content at a serial or time, and takes Records
// back to it.
//
// Guarantees:
//
//  1. A past is whole between now and the asked moment, or an error names the oldest moment that can be asked for.
//  2. A plan of a revert is a function of the past, the present Records and the options. A Record that it changes is in
//     the past; one that another writer renews is left, unless the user takes it.
//  3. A revert begins nothing if its plan has a refusal. It writes by change sets of one namespace, with the user's
//     rights, and only over the Records that the plan has seen.
//  4. A revert that is repeated changes nothing.
//
// Out of scope: the store of the past, and printing.
//
// Read first: revert.go, judge.go, plan.go, rebuild.go, author.go, read.go, moment.go.
package history
