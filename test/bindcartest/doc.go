// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bindcartest is a double of bindcar (an HTTP agent of BIND) before a real named: building the crate takes
// minutes.
//
// Guarantees:
//
//	D1. The double has the defects that clients must handle: a POST of an existing zone destroys file and journal, a
//	    DELETE of an unknown zone is 500 before 0.9, /ready is always 200, and a request over the limit is 429.
//	D2. The double counts destroyed zones.
//
// Start runs a named with the double, the real bindcar or Kubizone's agent. Read bindcar.go, then beside.go.
package bindcartest
