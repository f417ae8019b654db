// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package verify is the sub-command that asks the servers of a zone what they have and prints where each stands against
// what the API says.
//
// It promises:
//
//  1. It changes nothing, and ends with an error when anything differs or could not be asked.
//  2. Every server named by a flag, and every one that a Delivery of the zone lists, has a line.
//  3. A server that is ahead because the zone changed meanwhile is compared once more.
//
// It does not know how answers are compared: pkg/verify does.
//
// Read verify.go.
package verify
