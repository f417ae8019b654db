// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status is the sub-command that shows the state of an installation, or of a tenant's namespaces.
//
// Guarantees:
//
//	N1. Requests have the rights of the user. A line names each missing right; the other lines are complete.
//	N2. The exit code is 0 if all zones read are current, 1 if a zone is not, 2 if no zone could be read.
//	N3. With --watch, reading takes at most a fifth of the time, and is repeated at most every two seconds.
//
// Out of scope: the state of the processes (the API server's Installation), and its cause (doctor and why).
//
// Read first: status.go runs the command, read.go reads objects, judge.go their conditions, text.go prints, and
// overview.go has the result.
package status
