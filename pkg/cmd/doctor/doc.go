// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package doctor is the sub-command doctor: it diagnoses why a cluster does not serve the API, and names the next step.
//
// Guarantees:
//
//	D1. It changes nothing. A fact that cannot be read is a WARN, never an OK.
//	D2. Every finding but OK has a next step.
//	D3. The exit code is 1 after a FAIL, and 2 if kube-apiserver does not answer.
//	D4. The FAIL that explains the others is printed first. If helm has the release, the next step uses helm.
//	D5. Unanswered requests are abandoned within five seconds, over all checks.
//	D6. Findings are a function of observed facts: collect.go sends all requests, judge.go sends none.
//
// Out of scope: the stored zones and records (kubizone fsck).
//
// Read judge.go first.
package doctor
