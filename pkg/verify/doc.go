// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package verify compares what a name server answers with what a zone contains.
//
// It promises:
//
//  1. A server's answer is read by the same reader as the truth, so that spelling is no difference, and every other
//     thing is: owner, type, TTL and each value.
//  2. A server that does not hand the zone out is asked for every RRset one by one, and the report says so: what the
//     server has beside them is then not seen.
//  3. A server that cannot be asked, or whose answers are not signed as they have to be, is Failed, never equal.
//
// It does not know where the truth comes from, and changes nothing anywhere.
//
// Read compare.go first, then questions.go.
package verify
