// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubizone has the servers and the tools of the store.
package main

import (
	"os"

	"kubi.zone/kubizone/pkg/cmd"
)

func main() {
	os.Exit(cmd.Main(os.Args[1:], os.Stdout, os.Stderr))
}
