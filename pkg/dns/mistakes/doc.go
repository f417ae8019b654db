// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mistakes finds probable mistakes in valid texts: names, addresses, values, and policies for mail.
//
// Guarantees: (1) A mistake is a phrase that follows the quoted text: the effect, then the text to write; "" for none.
// (2) A result depends on its arguments alone.
//
// Out of scope: texts that package rdata refuses, and mistakes that only other records show.
//
// Read first: names.go, policy.go.
package mistakes
