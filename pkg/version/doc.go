// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version has the version of a Kubizone program.
//
// Guarantees: (1) A program neither of a release nor installed by go at a release's tag has a version with -dev. (2)
// Commands, /version, backups and every client's User-Agent have the same version.
//
// Out of scope: Kubernetes' version: pkg/apiserver adds that to /version.
//
// Read version.go.
package version
