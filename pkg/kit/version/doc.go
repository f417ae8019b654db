// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version returns the version of a Kubizone program, for example "0.5.0".
//
// Guarantees:
//
//  1. The version has -dev unless the program is of a release, or built by go install at a release's tag.
//  2. Commands, /version, backups and every client's User-Agent have the same version.
package version
