// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/cmd/fsck"
	"kubi.zone/kubizone/pkg/etcd/embed"
	"kubi.zone/kubizone/pkg/law/sethash"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/test/must"
)

// startStore starts etcd on a data directory with an empty ledger.
func startStore(t *testing.T) (path string, member *embed.Member, stop func()) {
	t.Helper()
	path = t.TempDir()
	dir := must.Get(embed.OpenDir(path, 0))(t)
	member = must.Get(embed.Start(t.Context(), embed.Config{Dir: dir}))(t)
	putKey(t, member, func(client *clientv3.Client) error {
		config := fmt.Sprintf(`{"format":%d,"leastReader":%[1]d,"hashAlgorithm":%d}`, ledger.Format, sethash.Algorithm)
		_, err := client.Put(t.Context(), layout.Keys{Prefix: apiserver.Prefix}.Config(), config)
		return err
	})
	stop = func() { member.Stop(); dir.Close() }
	t.Cleanup(stop)
	return path, member, stop
}

func putKey(t *testing.T, member *embed.Member, do func(*clientv3.Client) error) {
	t.Helper()
	client := must.Get(clientv3.New(clientv3.Config{Endpoints: member.Endpoints(), DialTimeout: 10 * time.Second, Logger: zap.NewNop()}))(t)
	defer client.Close()
	must.Succeed(t, do(client))
}

// fsck compares the internal keys of a store with its objects. It finds the same damage while the server runs, through
// this process, and after the server has ended, from the files (F2, F3).
func TestFsck_findsDamageBesideAServerAndAfterIt(t *testing.T) {
	t.Parallel()
	path, member, stop := startStore(t)
	check := func() (string, error) {
		var out bytes.Buffer
		command := fsck.NewCommand()
		command.SetArgs([]string{"--data-dir", path})
		command.SetOut(&out)
		command.SilenceUsage, command.SilenceErrors = true, true
		err := command.ExecuteContext(t.Context())
		return out.String(), err
	}
	if out, err := check(); err != nil || !strings.Contains(out, "clean") {
		t.Errorf("a fresh store: %v\n%s", err, out)
	}
	putKey(t, member, func(client *clientv3.Client) error {
		_, err := client.Put(t.Context(), apiserver.Prefix+"/ledger/counts/no-such-zone/ns", `{"n":1}`)
		return err
	})
	if out, err := check(); !errors.Is(err, fsck.ErrDamaged) || !strings.Contains(out, "no-such-zone") {
		t.Errorf("beside the server: %v\n%s", err, out)
	}
	stop()
	if out, err := check(); !errors.Is(err, fsck.ErrDamaged) || !strings.Contains(out, "no-such-zone") {
		t.Errorf("after the server: %v\n%s", err, out)
	}
}
