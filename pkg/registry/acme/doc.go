// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package acme is the REST storage of the resource to which cert-manager posts the payloads of its DNS-01 webhook
// solver.
//
// It promises: (1) a challenge is written for its resourceNamespace, under the rules of zones for that namespace, where
// the caller has the right to solve there; (2) what it writes is a value of the TXT RRset at resolvedFQDN that has the
// form of a DNS-01 response, and what it removes is that value; (3) both may be repeated; (4) a refusal is in the
// response, where cert-manager shows it in the status of the Challenge.
//
// It does not know how a change is planned and written: package updatekey does.
//
// Read storage.go.
package acme
