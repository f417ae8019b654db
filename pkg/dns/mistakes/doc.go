// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mistakes finds names and values that are valid but probably not meant, for Warnings of the API server.
// OfValue and others return the end of a sentence about the value. The caller quotes the value before it. For example,
// the MX value "10 mail.example.org.example.org." gives:
//
//	names example.org. twice: write "mail.example.org."
//
// Guarantees:
//  1. The text has the effect first, then the text to write. "" means no mistake.
//
// Read first: names.go, policy.go.
package mistakes
