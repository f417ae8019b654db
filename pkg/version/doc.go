// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version has the version of a Kubizone program.
//
// It promises: (1) A program that is neither of a release nor installed by go at a release's tag has a version with
// -dev. (2) Commands, /version, backups and the User-Agent of every client have the same version.
//
// It does not know the version of Kubernetes: pkg/apiserver adds that to /version.
//
// Read version.go.
package version
