// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version is which Kubizone a program is.
//
// It promises: (1) A program that is neither of a release nor installed by go at the tag of one has a number with -dev.
// (2) Commands, /version, backups and the User-Agent of every client say the same number.
//
// It does not know which Kubernetes the program is built with: pkg/apiserver adds that to /version.
//
// Read version.go.
package version
