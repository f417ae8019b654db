// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package steps makes the steps of a zone.
//
// Guarantees: (1) The steps follow each other. (2) Each has the state of its content, so a zone made of them proves.
package steps
