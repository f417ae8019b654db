// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package doctor is kubizone doctor: it diagnoses why a cluster does not serve the API, and names the next step.
//
// Guarantees:
//
//	D1. It changes nothing. An unreadable fact is a WARN, never an OK.
//	D2. Every finding but OK has a next step.
//	D3. The exit code is 1 after a FAIL, 2 if kube-apiserver does not answer; WARN does not count.
//	D4. The FAIL that explains the others is printed first. Its next step uses helm if helm has the release.
//	D5. Unanswered requests are abandoned within five seconds, over all checks.
//	D6. Findings are a function of the facts: collect.go sends requests, judge.go sends none.
//
// Out of scope: zones or records: kubizone fsck checks the stored objects.
//
// Read judge.go first.
package doctor
