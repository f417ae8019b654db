// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command etcd runs etcd for the control plane of solverconformance. The product's tests run etcd in their own process.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
