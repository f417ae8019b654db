// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/zone/etcd/embed"
)

// Options name a store, by either DataDir or Servers.
type Options struct {
	DataDir                   string
	Servers                   []string
	CAFile, CertFile, KeyFile string
}

func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.DataDir, "data-dir", o.DataDir, "data directory of kubizone up or of kubizone apiserver --etcd-data-dir, "+
		"in use or not")
	flags.StringSliceVar(&o.Servers, "etcd-servers", o.Servers, "URLs of an etcd cluster, instead of --data-dir")
	flags.StringVar(&o.CAFile, "etcd-cafile", o.CAFile, "CA of the etcd cluster")
	flags.StringVar(&o.CertFile, "etcd-certfile", o.CertFile, "client certificate for the etcd cluster")
	flags.StringVar(&o.KeyFile, "etcd-keyfile", o.KeyFile, "its key")
}

// Validate returns all faults of the flags together, before a connection.
func (o *Options) Validate() error {
	var wrong []error
	if (o.DataDir == "") == (len(o.Servers) == 0) {
		wrong = append(wrong, errors.New("give either --data-dir or --etcd-servers: one says which store is meant"))
	}
	if len(o.Servers) == 0 && (o.CAFile != "" || o.CertFile != "" || o.KeyFile != "") {
		wrong = append(wrong, errors.New("--etcd-cafile, --etcd-certfile and --etcd-keyfile go with --etcd-servers"))
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		wrong = append(wrong, errors.New("--etcd-certfile and --etcd-keyfile: give both or none"))
	}
	if o.DataDir != "" {
		// Opening would create a directory.
		if _, err := os.Stat(filepath.Join(o.DataDir, "etcd")); err != nil {
			wrong = append(wrong, fmt.Errorf("--data-dir %s: there is no data of kubizone: %w; name what kubizone up has as --data-dir, "+
				"or kubizone apiserver as --etcd-data-dir", o.DataDir, err))
		}
	}
	for _, server := range o.Servers {
		if !isEndpoint(server) {
			wrong = append(wrong, fmt.Errorf("--etcd-servers %q: write URLs, like https://etcd-0:2379", server))
		}
	}
	for _, file := range []struct{ flag, path string }{{"--etcd-cafile", o.CAFile}, {"--etcd-certfile", o.CertFile},
		{"--etcd-keyfile", o.KeyFile}} {
		if _, err := os.Stat(file.path); file.path != "" && err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w; name a PEM file that this user may read", file.flag, err))
		}
	}
	return errors.Join(wrong...)
}

func isEndpoint(text string) bool {
	at, err := url.Parse(text)
	return err == nil && (at.Host != "" || at.Scheme == "unix")
}

// Reach returns the endpoints of etcd. With --data-dir, Reach starts etcd unless a process already runs etcd there, and
// release stops it. Close connections before calling release, which is nil after an error.
func (o *Options) Reach(ctx context.Context) (transport storagebackend.TransportConfig, release func(), err error) {
	if err := o.Validate(); err != nil {
		return transport, nil, err
	}
	transport = storagebackend.TransportConfig{ServerList: o.Servers, TrustedCAFile: o.CAFile, CertFile: o.CertFile, KeyFile: o.KeyFile}
	if o.DataDir == "" {
		return transport, func() {}, nil
	}
	transport.ServerList, release, err = embed.Reach(ctx, o.DataDir, func(line string) { klog.Warningf("etcd: %s", line) })
	return transport, release, err
}
