// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.uber.org/zap"
)

// member is an etcd that fills a store, without fsync.
type member struct {
	server *embed.Etcd
	client *kubernetes.Client
}

func startMember(dir string) (*member, error) {
	c := embed.NewConfig()
	c.Dir, c.UnsafeNoFsync, c.QuotaBackendBytes = dir, true, 32<<30
	socket := url.URL{Scheme: "unix", Path: filepath.Join(dir, "socket")}
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{socket}, []url.URL{socket}
	c.ListenPeerUrls, c.AdvertisePeerUrls = nil, []url.URL{{Scheme: "http", Host: "127.0.0.1:2380"}}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.TickMs, c.ElectionMs = 20, 200
	c.CompactionBatchLimit, c.CompactionSleepInterval = 20000, time.Millisecond
	c.WarningApplyDuration, c.WarningUnaryRequestDuration = time.Minute, time.Minute
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	server, err := embed.StartEtcd(c)
	if err != nil {
		return nil, err
	}
	m := &member{server: server, client: &kubernetes.Client{Client: v3client.New(server.Server)}}
	m.client.Kubernetes = m.client
	select {
	case <-server.Server.ReadyNotify():
		return m, nil
	case err := <-server.Err():
		return nil, err
	case <-time.After(time.Minute):
		m.stop()
		return nil, fmt.Errorf("etcd on %s did not become ready in a minute", dir)
	}
}

func (m *member) stop() {
	m.client.Close()
	m.server.Close()
}

func (m *member) writeSnapshot(ctx context.Context, path string) (err error) {
	now, err := m.client.Client.Get(ctx, "compact")
	if err != nil {
		return err
	}
	// Each compaction reads the whole store.
	if _, err := m.client.Compact(ctx, now.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		return err
	}
	if err := m.server.Server.Backend().Defrag(); err != nil {
		return err
	}
	from, err := m.client.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer from.Close()
	partial := path + ".partial"
	to, err := os.OpenFile(partial, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	return os.Rename(partial, path)
}
