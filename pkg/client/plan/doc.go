// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan is the plan of an apply or an import: the changes of each zone, its hold and classes, and the refusals
// and warnings of the server. kubectl kubizone plan and review print it, and the console shows it.
//
// Guarantees:
//
//  1. Nothing is written: the server decides in dry runs.
//  2. Two plans of the same objects against the same store are equal, whatever the order of the files.
//
// Read first: texts.go, plan.go, entries.go.
package plan
