// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package doctor is kubizone doctor: it finds why a cluster does not serve the API, and names the next step.
//
// It promises:
//
//	D1. It changes nothing. A fact that it may not see is a WARN that says so, never an OK.
//	D2. Every finding that is not OK has a next step.
//	D3. FAIL is exit code 1, and 2 where kube-apiserver could not be asked; WARN is none.
//	D4. The FAIL that explains the others stands in front, with its next step, which is one of helm where helm has the
//	    release.
//	D5. What does not answer is given up within five seconds, all checks together.
//	D6. Judging is a function of what was collected: collect.go asks the servers, judge.go decides and asks none.
//
// It does not know zones or records; what is stored is checked by kubizone fsck.
//
// Read judge.go first.
package doctor
