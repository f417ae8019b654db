// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bind-agent is the sub-command bind-agent of kubizone alone, a tenth of the size.
package main

import (
	"os"

	"kubi.zone/kubizone/cmd/bind-agent/bindagent"
)

func main() { os.Exit(bindagent.Main(os.Args[1:], os.Stdout, os.Stderr)) }
