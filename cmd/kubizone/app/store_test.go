// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"kubi.zone/kubizone/cmd/kubizone/fsck"
	"kubi.zone/kubizone/cmd/kubizone/restore"
	"kubi.zone/kubizone/cmd/kubizone/source"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/zone/etcd/embed"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
)

func TestRestore_saysAllThatIsWrong(t *testing.T) {
	for want, arguments := range map[string][]string{
		"--data-dir: must not be empty":                                    {"backup"},
		"--etcd-member-name and --etcd-initial-cluster: give both or none": {"backup", "--data-dir", "data", "--etcd-member-name", "a"},
	} {
		if err := runRestore(t, arguments...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

func runRestore(t *testing.T, arguments ...string) error {
	t.Helper()
	command := restore.NewCommand()
	command.SetArgs(arguments)
	command.SilenceUsage, command.SilenceErrors = true, true
	return command.ExecuteContext(t.Context())
}

// (1): without a backup no directory is created.
func TestRestore_leavesNothingWhereTheBackupIsMissing(t *testing.T) {
	dir := t.TempDir()
	must.Say(t, runRestore(t, dir+"/nothing", "--data-dir", dir+"/data"), "nothing.manifest.json is not beside it")
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// S1
func TestSource_makesNoDataDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	if err := (&source.Options{DataDir: path}).Validate(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a directory that is not there: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
}

func TestSource_saysAllThatIsWrong(t *testing.T) {
	err := (&source.Options{KeyFile: "k"}).Validate()
	must.Say(t, err, "either --data-dir or --etcd-servers", "go with --etcd-servers", "give both or none")
	err = (&source.Options{Servers: []string{"etcd-0:2379"}, CAFile: "no-such-file"}).Validate()
	must.Say(t, err, `--etcd-servers "etcd-0:2379": write URLs, like https://`, "--etcd-cafile: ")
	if err := (&source.Options{DataDir: t.TempDir(), Servers: []string{"http://127.0.0.1:1"}}).Validate(); err == nil {
		t.Error("both stores at once are accepted")
	}
}

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
