// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"kubi.zone/kubizone/test/rig"
)

// home also has the directories of Fresh.
var (
	member *Etcd
	home   string
)

// Main runs the tests with a shared member.
func Main(m *testing.M) int {
	rig.SpareGarbage()
	dir, err := os.MkdirTemp("", "kubizone-store-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	home = dir
	if member, err = StartEtcd(filepath.Join(dir, "shared")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// The member's handlers read os.Stderr, which Run replaces for `go test -json`: wait until they are built.
	answer, err := http.Get(member.Endpoint + "/health")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	answer.Body.Close()
	// Closing the member takes seconds; it ends with this process.
	return m.Run()
}

// Fresh starts a new member, for tests of the first revisions.
func Fresh(t testing.TB, change ...func(*embed.Config)) *Etcd {
	t.Helper()
	dir, err := os.MkdirTemp(home, "fresh-")
	if err == nil {
		var e *Etcd
		if e, err = StartEtcd(dir, change...); err == nil {
			return e
		}
	}
	t.Fatal(err)
	return nil
}

type Etcd struct{ Endpoint string }

// StartEtcd runs a member on dir until this process ends, without fsync.
func StartEtcd(dir string, change ...func(*embed.Config)) (*Etcd, error) {
	var urls [2]url.URL
	for i := range urls {
		at, err := rig.FreePort()
		if err != nil {
			return nil, err
		}
		urls[i] = url.URL{Scheme: "http", Host: at.String()}
	}
	c := embed.NewConfig()
	c.Dir, c.UnsafeNoFsync = dir, true
	c.MaxTxnOps = 512 // as in pkg/zone/etcd/embed
	// A purge of old files would end the process when Main removes the directory.
	c.MaxSnapFiles, c.MaxWalFiles = 0, 0
	c.ListenClientUrls, c.AdvertiseClientUrls = urls[:1], urls[:1]
	c.ListenPeerUrls, c.AdvertisePeerUrls = urls[1:], urls[1:]
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.TickMs, c.ElectionMs = 20, 200 // a single member waits for its own election
	c.WatchProgressNotifyInterval = time.Second
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	for _, f := range change {
		f(c)
	}
	e, err := embed.StartEtcd(c)
	if err != nil {
		return nil, err
	}
	select {
	case <-e.Server.ReadyNotify():
		return &Etcd{Endpoint: urls[0].String()}, nil
	case err := <-e.Err():
		return nil, err
	case <-time.After(time.Minute):
		return nil, fmt.Errorf("etcd on %s did not become ready in a minute", dir)
	}
}

func (e *Etcd) Client() (*kubernetes.Client, error) {
	return kubernetes.New(clientv3.Config{Endpoints: []string{e.Endpoint}, DialTimeout: 10 * time.Second, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}})
}
