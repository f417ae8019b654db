// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command webhookprovider serves a provider of external-dns like external-dns --webhook-server, by external-dns'
// handlers, but at any address, and prints the URL. The original listens only on port 8888, and takes ten minutes to
// build. A separate module keeps the library out of the product.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"

	"sigs.k8s.io/external-dns/endpoint"
	"sigs.k8s.io/external-dns/pkg/apis/externaldns"
	"sigs.k8s.io/external-dns/provider"
	"sigs.k8s.io/external-dns/provider/inmemory"
	"sigs.k8s.io/external-dns/provider/pdns"
	"sigs.k8s.io/external-dns/provider/webhook/api"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	config := &externaldns.Config{PDNSServerID: "localhost"}
	kind := flag.String("provider", "inmemory", "inmemory or pdns")
	listen := flag.String("listen", "127.0.0.1:0", "where it listens")
	flag.Func("inmemory-zone", "a zone of inmemory; repeated for more", func(zone string) error {
		config.InMemoryZones = append(config.InMemoryZones, zone)
		return nil
	})
	flag.StringVar(&config.PDNSServer, "pdns-server", "", "the URL of the API of PowerDNS")
	flag.StringVar(&config.PDNSAPIKey, "pdns-api-key", "", "its key")
	flag.Parse()
	makers := map[string]func(context.Context, *externaldns.Config, *endpoint.DomainFilter) (provider.Provider, error){
		"inmemory": inmemory.New, "pdns": pdns.New,
	}
	if makers[*kind] == nil {
		return fmt.Errorf("--provider %q: inmemory or pdns", *kind)
	}
	made, err := makers[*kind](context.Background(), config, endpoint.NewDomainFilter(nil))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	server := &api.WebhookServer{Provider: made}
	paths := http.NewServeMux()
	paths.HandleFunc("/", server.NegotiateHandler)
	paths.HandleFunc(api.UrlRecords, server.RecordsHandler)
	paths.HandleFunc(api.UrlAdjustEndpoints, server.AdjustEndpointsHandler)
	fmt.Printf("http://%s\n", listener.Addr())
	return http.Serve(listener, paths)
}
