// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package why is the command kubectl kubizone why. It prints why a name does or does not resolve, as a chain of links:
// rule, Record, zone, classes, name servers, and the parent's NS and DS.
//
// Guarantees:
//
//	Y1. The first link that fails is printed first, with the role that can mend it and the next step.
//	Y2. The exit code is 0 if no link fails or waits, 1 if a link does, and 2 if the question could not be answered.
//
// Package pkg/why walks the links.
//
// Read why.go.
package why
