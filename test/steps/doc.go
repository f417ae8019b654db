// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package steps makes the steps of a zone.
//
// Guarantee: the steps follow each other, and each has the state of its content, so a zone made of them proves.
package steps
