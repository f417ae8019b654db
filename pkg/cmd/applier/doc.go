// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package applier applies and deletes Records together, from the command line.
//
// It promises:
//
//	P1. All Records of a call are changed in one transaction, or none is (S10.1).
//	P2. More than one transaction can have is refused before anything is sent, with the limit. It is never split.
//	P3. A refusal names each Record that is refused, with its file.
//
// It does not know how a change set is carried out: it sends one to the API.
//
// Read applier.go.
package applier
