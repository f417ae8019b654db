// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status is the command kubectl kubizone status. It lists the zones and Records that name servers do not have
// yet, recent refusals, and for operators the state of the servers.
//
// Guarantees:
//
//	N1. Requests have the rights of the user. A line names each missing right; the other lines are complete.
//	N2. The exit code is 0 if all zones read are current (Ready), 1 if a zone is not, and 2 if no zone could be read.
//	N3. With --watch, reading takes at most a fifth of the time, and is repeated at most every two seconds.
//
// Read status.go first.
package status
