// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status is the sub-command for the state of an installation, or of a tenant's namespaces, on a screen.
//
// Guarantees:
//
//	N1. Requests have the rights of the user. A line names each missing right, and the other lines are complete.
//	N2. The exit code is 0 if all zones read are current, 1 if a zone is not, 2 if no zone could be read.
//	N3. With --watch, reading takes a fifth of the time at most, and is repeated every two seconds at most.
//
// Out of scope: the state of the processes (the API server's Installation), and its cause (doctor and why).
//
// Read first: status.go runs the command, read.go reads objects, judge.go reads their conditions, text.go prints, and
// overview.go has the result.
package status
