// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package memory

import "io/fs"

func unmapProgram(fs.FS) {}
