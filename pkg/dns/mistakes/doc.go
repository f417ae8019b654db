// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mistakes finds values that are valid but probably not meant, for warnings. For example, "10
// mail.example.org.example.org." repeats a name, and a second SPF policy at a name makes receivers reject both.
//
// Guarantees:
//  1. A mistake is the end of a sentence that begins with the quoted value: the effect, then the text to write. ""
//     means no mistake.
//
// Out of scope: mistakes that only other records show.
//
// Read first: names.go, policy.go.
package mistakes
