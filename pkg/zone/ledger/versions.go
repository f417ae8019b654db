// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/pkg/zone/ledger/subrev"
)

func Versions(prefix string) *subrev.Mapping {
	var resources []string
	for _, r := range layout.Resources {
		resources = append(resources, layout.Keys{Prefix: prefix}.Objects(r))
	}
	m, err := subrev.New(resources...)
	if err != nil {
		panic(err)
	}
	return m
}

func versionedClient(client *clientv3.Client, versions *subrev.Mapping) *clientv3.Client {
	c := clientv3.NewCtxClient(client.Ctx())
	c.KV, c.Watcher, c.Lease = client.KV, client.Watcher, client.Lease
	versions.Wrap(c)
	return c
}
