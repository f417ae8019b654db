// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command standin is packaged by release tests in place of the programs, which take minutes to build.
package main

import (
	"os"

	"kubi.zone/kubizone/pkg/version"
)

func main() { os.Stdout.WriteString("kubizone v" + version.Number() + " (stand-in)\n") }
