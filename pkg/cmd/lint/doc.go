// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lint is the sub-command lint: it judges manifests without a server.
//
// It promises:
//
//	L1. What it refuses the server refuses, in the same words, and so with its warnings: both call package validation.
//	    A Zone gets no warning about a name server address or rule that another object of the files has.
//	L2. Every object is judged, and the exit code is 1 where one is refused.
//
// It does not know what rests on other objects, as rules, claims and what stands beside a Record: only a server does,
// by a dry run.
//
// Read lint.go.
package lint
