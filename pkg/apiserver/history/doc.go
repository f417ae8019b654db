// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history tells clients of the API server who changed a zone, when, and how. A Reader answers
// zones/NAME/changes?form=history and records/NAME/changes. Sources finds the Records at a name of a zone, for requests
// with sources=true.
//
// Guarantees:
//  1. records/NAME/changes has only changes by Records of its namespace (S1.8). No answer has changes older than the
//     namespace, since a former namespace with its name made them.
//
// Read first: history.go, sources.go.
package history
