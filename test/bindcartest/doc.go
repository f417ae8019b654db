// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bindcartest is a double of bindcar before a real named, for the tests of what drives a bindcar. The crate
// itself takes minutes to build.
//
// It promises:
//
//	D1. It has the defects that clients must live with: a POST of a zone that exists destroys its file and journal, a
//	    DELETE of an unknown zone is 500 before 0.9, /ready is always 200, and a request too many is 429.
//	D2. It counts what it destroyed.
//
// It knows the routes that a client of Kubizone uses alone: of records and of DNSSEC it has none.
//
// Read bindcar.go.
package bindcartest
