// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the programs by stories: files in testdata with kubectl commands and the expected tables, YAML and
// DNS answers.
//
// Guarantees:
//
//  1. A story uses the real programs: kubizone, kubectl, kstatus and argohealth, and the distribution's dig and named.
//  2. A story has its own data directory and ports; its processes end with it.
//  3. A story never sleeps.
//
// Read e2e_test.go for the commands, then testdata/refuse.txtar.
package e2e
