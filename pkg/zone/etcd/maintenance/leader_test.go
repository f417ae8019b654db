// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"crypto/x509"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/pkg/zone/etcd/embed"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/store"
)

// startThreeMembers returns an endpoint per member, each for a single server.
func startThreeMembers(t *testing.T, quota int64) (endpoints []string) {
	t.Helper()
	dir := t.TempDir()
	authority := store.Must(pki.Issue(nil, pki.Authority("peers"), time.Now(), time.Hour))
	template := pki.Serving("peer", []string{"127.0.0.1"})
	template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	peer := store.Must(pki.Issue(authority, template, time.Now(), time.Hour))
	files := embed.Cluster{CAFile: filepath.Join(dir, "ca.crt"), CertFile: filepath.Join(dir, "peer.crt"), KeyFile: filepath.Join(dir, "peer.key")}
	for file, content := range map[string][]byte{files.CAFile: authority.CertPEM, files.CertFile: peer.CertPEM, files.KeyFile: peer.KeyPEM} {
		must.Succeed(t, os.WriteFile(file, content, 0o600))
	}
	members := make([]embed.Cluster, 3)
	var initial []string
	for i := range members {
		members[i] = files
		members[i].MemberName, members[i].ListenPeer = fmt.Sprintf("m%d", i), "https://"+store.Must(rig.FreePort()).String()
		initial = append(initial, members[i].MemberName+"="+members[i].ListenPeer)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	type started struct {
		member *embed.Member
		err    error
	}
	results := make(chan started)
	for _, cluster := range members {
		cluster.InitialCluster = strings.Join(initial, ",")
		at := store.Must(embed.OpenDir(filepath.Join(dir, cluster.MemberName), 0))
		t.Cleanup(func() { at.Close() })
		go func() {
			member, err := embed.Start(ctx, embed.Config{Dir: at, QuotaBytes: quota, Cluster: &cluster})
			results <- started{member, err}
		}()
	}
	for range members {
		r := <-results
		if r.err != nil {
			t.Fatal(r.err)
		}
		t.Cleanup(r.member.Stop)
		endpoints = append(endpoints, r.member.Endpoints()...)
	}
	return endpoints
}

// Ledger A13: each server knows only the embedded member beside it. The leader's server transfers leadership before
// defragmenting; the others just defragment. Writes continue throughout, through a running member.
func TestKeeper_handsOverBeforeTheLeaderIsDefragmented(t *testing.T) {
	notUnderRace(t)
	var asked []string // by the checking server
	var clients []*clientv3.Client
	for _, endpoint := range startThreeMembers(t, 16<<20) {
		client := store.Must(clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 10 * time.Second, Logger: zap.NewNop(), DialOptions: []grpc.DialOption{
			grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, connection *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
				if name := path.Base(method); name == "MoveLeader" || name == "Defragment" {
					asked = append(asked, name)
				}
				return invoke(ctx, method, request, reply, connection, options...)
			}),
		}}))
		t.Cleanup(func() { client.Close() })
		clients = append(clients, client)
	}
	status := func(client *clientv3.Client) *clientv3.StatusResponse {
		return store.Must(client.Status(t.Context(), client.Endpoints()[0]))
	}
	leader := func() *clientv3.Client {
		at := slices.IndexFunc(clients, func(c *clientv3.Client) bool { s := status(c); return s.Leader == s.Header.MemberId })
		if at < 0 {
			return nil
		}
		return clients[at]
	}
	for n := range 150 {
		store.Must(clients[0].Put(t.Context(), "k", strings.Repeat("v", 64<<10)+fmt.Sprint(n)))
	}
	revision := store.Must(clients[0].Get(t.Context(), "k")).Header.Revision
	store.Must(clients[0].Compact(t.Context(), revision, clientv3.WithCompactPhysical()))
	store.Eventually(t, "every member counts what is free", func() bool {
		store.Must(clients[0].Put(t.Context(), "other", "v")) // a commit updates the counts
		return !slices.ContainsFunc(clients, func(c *clientv3.Client) bool { s := status(c); return s.DbSizeInUse >= s.DbSize/2 }) && leader() != nil
	})

	led := leader()
	before := status(led).Header.MemberId
	look := func(client *clientv3.Client) (calls []string, gave bool) {
		k := makeKeeper(client)
		k.minReclaim, k.keepHistory = 1<<20, time.Hour
		size := status(client).DbSize
		asked = nil
		must.Get(k.checkMembers(t.Context()))(t)
		return asked, status(client).DbSize < size/2
	}
	if calls, gave := look(led); !gave || !slices.Equal(calls, []string{"MoveLeader", "Defragment"}) {
		t.Errorf("the member that led: asked %q, gave back %t", calls, gave)
	}
	store.Eventually(t, "another leads", func() bool { now := leader(); return now != nil && status(now).Header.MemberId != before })
	var follows *clientv3.Client
	for _, client := range clients {
		if client != led && client != leader() {
			follows = client
		}
	}
	if calls, gave := look(follows); !gave || !slices.Equal(calls, []string{"Defragment"}) {
		t.Errorf("a member that does not lead: asked %q, gave back %t", calls, gave)
	}
	for _, client := range clients {
		store.Must(client.Put(t.Context(), "k", "v"))
	}
}
