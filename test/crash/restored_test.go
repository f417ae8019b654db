// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package crash

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig/kuberig"
)

func (w *world) runCommand(ctx context.Context, t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(ctx, w.program, args...).CombinedOutput(); err != nil {
		t.Fatalf("kubizone %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// putBack does not raise the revision.
func (m *member) putBack(ctx context.Context, t *testing.T, file string) {
	t.Helper()
	m.killMember()
	m.Dir = filepath.Join(t.TempDir(), "restored")
	must.Succeed(t, snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath: file, OutputDataDir: m.Dir, Name: m.Name, PeerURLs: []string{m.Advertise}, InitialCluster: m.Cluster, InitialClusterToken: "restored",
	}))
	m.startMember(t)
	m.waitReady(ctx, t)
}

// F17: a snapshot is restored without raising the revision. At its start, the server sees that etcd's log lacks known
// revisions, and exits; no client sees an older state. A store from kubizone restore on the same snapshot is served,
// ahead of all known revisions, even if etcd's own tool creates the member.
func TestF17_restoredAsItWas(t *testing.T) {
	w := requireWorld(t)
	ctx := within(t, 3*waitTimeout)
	e := startEtcd(ctx, t, 1, false)
	one := w.startServer(ctx, t, e.listEndpoints())
	l := w.startLoad(ctx, t, one)
	l.waitAcked(ctx, t, 20)
	file := filepath.Join(t.TempDir(), "backup")
	w.runCommand(ctx, t, "backup", "--etcd-servers", e.listEndpoints(), file)
	l.waitAcked(ctx, t, 20)
	l.endLoad()
	follower := w.startPrimary(ctx, t, one)
	serial := func() (uint32, error) {
		all, err := transferZone(follower.dns, "one.test.")
		if err != nil {
			return 0, err
		}
		at, _ := withoutSOA(t, all)
		return at, nil
	}
	seen := uint32(must.Get(l.clients[0].Zones(owner).Get(ctx, "one", metav1.GetOptions{}))(t).Status.Serial)
	until(ctx, t, "the primary has what came after the backup", func() error {
		if at, err := serial(); err != nil || at != seen {
			return fmt.Errorf("serial %d, want %d: %v", at, seen, err)
		}
		return nil
	})

	one.Kill()
	e.members[0].putBack(ctx, t, file)
	short, cancel := context.WithTimeout(ctx, time.Minute)
	_, err := kuberig.StartServer(short, one.dir, one.config)
	cancel()
	if err == nil || !strings.Contains(err.Error(), "was restored from a snapshot as it was") || !strings.Contains(err.Error(), "kubizone restore") {
		t.Fatalf("the server says %v", err)
	}
	if at, err := serial(); err != nil || at != seen {
		t.Errorf("the primary transfers serial %d, %v; it had %d", at, err, seen)
	}

	data, raised := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "raised")
	w.runCommand(ctx, t, "restore", file, "--data-dir", data)
	w.runCommand(ctx, t, "backup", "--data-dir", data, raised)
	e.members[0].putBack(ctx, t, raised)
	one.startReplica(ctx, t)
	one.startReplica(ctx, t) // only the first start on the restored store records the beginning of etcd's log
	until(ctx, t, "the primary takes what is restored", func() error {
		if at, err := serial(); err != nil || int32(at-seen) <= 0 {
			return fmt.Errorf("serial %d, it had %d: %v", at, seen, err)
		}
		return nil
	})
	if message, clean, _ := w.runFsck(ctx, e); !clean {
		t.Errorf("fsck:\n%s", keepLastLines(message, 40))
	}
	w.expectAgreement(ctx, t, one)
}
