// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command standin replaces programs that take minutes to build.
package main

import (
	"os"

	"kubi.zone/kubizone/pkg/kit/version"
)

func main() { os.Stdout.WriteString("kubizone v" + version.Number() + " (stand-in)\n") }
