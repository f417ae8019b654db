// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kuberig

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"kubi.zone/kubizone/test/rig"
)

type Etcd struct {
	Endpoint string

	server *embed.Etcd
	once   sync.Once
}

// StartEtcd runs a member until Close, without TLS and fsync: a killed process loses nothing.
func StartEtcd(ctx context.Context, dir string) (*Etcd, error) {
	return startEtcd(ctx, dir, transport.TLSInfo{}, 0)
}

// StartSecureEtcd is StartEtcd with TLS: clients need a certificate of the authority. hosts are further names of the
// member. quota is in octets; 0 means etcd's.
func StartSecureEtcd(ctx context.Context, dir string, authority *rig.Authority, quota int64, hosts ...string) (*Etcd, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	serving, err := authority.Serving(append(hosts, "127.0.0.1")...)
	if err != nil {
		return nil, err
	}
	clients := transport.TLSInfo{TrustedCAFile: filepath.Join(dir, "ca.crt"), ClientCertAuth: true}
	if err := rig.ReplaceFile(clients.TrustedCAFile, authority.PEM); err != nil {
		return nil, err
	}
	if clients.CertFile, clients.KeyFile, err = serving.Write(filepath.Join(dir, "serving")); err != nil {
		return nil, err
	}
	return startEtcd(ctx, dir, clients, quota)
}

func startEtcd(ctx context.Context, dir string, clients transport.TLSInfo, quota int64) (*Etcd, error) {
	rig.SpareGarbage()
	var urls [2]url.URL
	for i := range urls {
		port, err := rig.FreePort()
		if err != nil {
			return nil, err
		}
		urls[i] = url.URL{Scheme: "http", Host: port.String()}
	}
	if !clients.Empty() {
		urls[0].Scheme = "https"
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	c := embed.NewConfig()
	c.ClientTLSInfo, c.QuotaBackendBytes = clients, quota
	c.Dir, c.UnsafeNoFsync = filepath.Join(dir, "member"), true
	c.ListenClientUrls, c.AdvertiseClientUrls = urls[:1], urls[:1]
	c.ListenPeerUrls, c.AdvertisePeerUrls = urls[1:], urls[1:]
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.WatchProgressNotifyInterval = 5 * time.Second // for consistent reads from caches
	c.TickMs, c.ElectionMs = 50, 500
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	server, err := embed.StartEtcd(c)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	e := &Etcd{Endpoint: urls[0].String(), server: server}
	select {
	case <-server.Server.ReadyNotify():
		return e, nil
	case err = <-server.Err():
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	server.Close()
	return nil, fmt.Errorf("etcd on %s: %w", dir, err)
}

func (e *Etcd) Close() { e.once.Do(e.server.Close) }
