// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e runs stories: kubectl in; tables, YAML and DNS answers out. A story is a file in testdata, a
// new one is no Go code.
//
// It promises:
//  1. A story meets the real things: the kubizone binary in a process of its own, kubectl, kstatus and argohealth as
//     hack/build-kube.sh and hack/build-gitops.sh build them, dig and named of the distribution.
//  2. A story has its own data directory and ports, and everything it started ends with it.
//  3. A story waits for facts that it can ask for, and never sleeps.
//
// It does not know any package of the module: it builds cmd/kubizone and uses what a user has.
//
// Read e2e_test.go for the commands a story has beyond testscript's, then testdata/refuse.txtar.
package e2e
