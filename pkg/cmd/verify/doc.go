// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package verify is the sub-command that asks the servers of a zone what they have and prints where each stands against
// what the API says.
//
// It promises:
//
//  1. It changes nothing, and ends with an error when anything differs or could not be asked.
//  2. Every server named by a flag has a line, and everything that the zone is delivered to: name servers and other
//     providers are asked. A server that was not asked is never said to be current: its line has a question
//     mark, and the end is an error.
//  3. A server of a class is asked with the key that the class knows it by, where the user may read it; no key is
//     printed.
//  4. Servers are compared with what is delivered: of a zone that is not settled with what it had at
//     status.settledSerial, which is said.
//  5. A server that is ahead because the zone changed meanwhile is compared once more.
//
// It does not know how answers are compared: pkg/verify does.
//
// Read verify.go, then deliveries.go.
package verify
