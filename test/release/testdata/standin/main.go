// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command standin is what a release of the tests packages in place of its programs, which take minutes to build.
package main

import (
	"os"

	"kubi.zone/kubizone/pkg/version"
)

func main() { os.Stdout.WriteString("kubizone v" + version.Number() + " (stand-in)\n") }
