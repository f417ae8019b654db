// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubizone has the servers and the tools of the store.
package main

import (
	"os"

	"kubi.zone/kubizone/cmd/kubizone/app"
)

func main() {
	os.Exit(app.Main(os.Args[1:], os.Stdout, os.Stderr))
}
