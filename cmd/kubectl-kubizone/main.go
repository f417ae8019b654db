// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-kubizone is the client of the API for people, and kubectl's plugin kubizone.
package main

import (
	"os"

	"kubi.zone/kubizone/cmd/kubectl-kubizone/client"
)

func main() {
	os.Exit(client.Main(os.Args[1:], os.Stdout, os.Stderr))
}
