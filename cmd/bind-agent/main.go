// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bind-agent is kubizone bind-agent alone, a tenth of the size: it runs beside each named.
package main

import (
	"os"

	"kubi.zone/kubizone/pkg/cmd/bindagent"
)

func main() { os.Exit(bindagent.Main(os.Args[1:], os.Stdout, os.Stderr)) }
