// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs has the pages that programs print.
//
// Guarantees:
//
//	D1. A page is the file of that name, as it stood when the program was built.
//
// Read doc.go.
package docs

import _ "embed"

// Semantics is semantics.md: the rules that messages cite.
//
//go:embed semantics.md
var Semantics string

// Reasons is reasons.md: the reasons of conditions, Warnings and Events.
//
//go:embed reasons.md
var Reasons string

// Operations is operations.md, with a section for each alert.
//
//go:embed operations.md
var Operations string
