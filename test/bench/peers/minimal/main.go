// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "of the cluster with the objects")
	server := flag.String("server", "", "address and port of the primary")
	zone := flag.String("zone", "", "the primary's zone, absolute")
	key := flag.String("key", "", "name of the TSIG key, absolute; hmac-sha256")
	secret := flag.String("secret", "", "the key's secret, in base64")
	workers := flag.Int("workers", 8, "objects reconciled at the same time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err == nil {
		var c *controller
		if c, err = newController(config, *server, *zone, *key, *secret); err == nil {
			err = c.runWorkers(ctx, *workers, func() { fmt.Println("ready") })
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "minimal:", err)
		os.Exit(1)
	}
}
