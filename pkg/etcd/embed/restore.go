// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
)

// etcd requires both, though nothing listens there.
const (
	soleMember = "kubizone"
	solePeer   = "http://127.0.0.1:2380"
)

// Snapshot is a snapshot file of etcd, with options for the data directory made by Restore.
type Snapshot struct {
	// Path is a file of etcdctl snapshot save or backup.Take, with a hash at the end.
	Path string
	// Bump is added to etcd's revision, and all earlier revisions are compacted. So no revision of the old store has
	// another content in the new one. 0 keeps the revision.
	Bump int64
	// MemberName and InitialCluster make the directory that of a new cluster's first member. Others join by Replace.
	// Both are "" for a sole member.
	MemberName, InitialCluster string
}

// Restore writes a snapshot into a directory without data, as a whole or not at all.
func (d *Dir) Restore(from Snapshot) error {
	target := filepath.Join(d.path, etcdDir)
	if d.HasData() {
		return fmt.Errorf("data-dir %s has data; restore into another one, or move %s away first", d.path, target)
	}
	partial := target + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return unwritable(d.path, err)
	}

	config := snapshot.RestoreConfig{
		SnapshotPath: from.Path, OutputDataDir: partial,
		Name: soleMember, PeerURLs: []string{solePeer}, InitialCluster: soleMember + "=" + solePeer, InitialClusterToken: clusterToken,
	}
	if from.MemberName != "" {
		cluster := Cluster{MemberName: from.MemberName, InitialCluster: from.InitialCluster}
		members, err := cluster.parseMembers()
		if err != nil || members[from.MemberName] == nil {
			return fmt.Errorf("--etcd-initial-cluster %q: it must name member %s with its URL (%v)", from.InitialCluster, from.MemberName,
				err)
		}
		config.Name, config.PeerURLs = from.MemberName, members[from.MemberName].StringSlice()
		config.InitialCluster = from.MemberName + "=" + members[from.MemberName].String()
	}
	if from.Bump > 0 {
		config.RevisionBump, config.MarkCompacted = uint64(from.Bump), true
	}

	if err := snapshot.NewV3(zap.NewNop()).Restore(config); err != nil {
		os.RemoveAll(partial)
		return fmt.Errorf("data-dir %s: %s cannot be restored: %w", d.path, from.Path, err)
	}

	err := os.Chmod(partial, 0o700)
	if err == nil {
		err = d.SetMember(from.MemberName)
	}
	if err == nil {
		err = os.Rename(partial, target)
	}
	if err != nil {
		os.RemoveAll(partial)
		return unwritable(d.path, err)
	}
	return nil
}

// Adopt moves a sole member's data from another directory of the file system into d, without data. Neither member may
// run.
func (d *Dir) Adopt(other *Dir) error {
	if err := d.SetMember(""); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(other.path, etcdDir), filepath.Join(d.path, etcdDir)); err != nil {
		return unwritable(d.path, err)
	}
	return nil
}

// HasData reports whether a member ran here, or a snapshot was restored.
func (d *Dir) HasData() bool {
	_, err := os.Stat(filepath.Join(d.path, etcdDir))
	return err == nil
}
