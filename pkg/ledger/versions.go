// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/ledger/subrev"
)

// Versions is how resourceVersions of the objects under a prefix are made of etcd's revisions. Every client that
// reads or writes objects, and every one whose revisions are compared with such a client's, goes through it.
func Versions(prefix string) *subrev.Mapping {
	var resources []string
	for _, r := range layout.Resources {
		resources = append(resources, layout.Keys{Prefix: prefix}.Objects(r))
	}
	m, err := subrev.New(resources...)
	if err != nil {
		panic(err) // two names of resources that clash are a bug of package layout
	}
	return m
}

// versionedClient is a client that speaks of versions. client stays as it is, and is the one to be closed.
func versionedClient(client *clientv3.Client, versions *subrev.Mapping) *clientv3.Client {
	c := clientv3.NewCtxClient(client.Ctx())
	c.KV, c.Watcher, c.Lease = client.KV, client.Watcher, client.Lease
	versions.Wrap(c)
	return c
}
