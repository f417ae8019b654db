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

// etcd requires a name and a peer address of a sole member, although nothing listens there.
const (
	soleMember = "kubizone"
	solePeer   = "http://127.0.0.1:2380"
)

type Snapshot struct {
	// Path is a file written by etcdctl snapshot save or backup.Take, with a hash at the end.
	Path string
	// Bump is added to etcd's revision, and all earlier revisions are compacted. Without this, clients of the old store
	// would meet a revision again with other content. 0 keeps the revision.
	Bump int64
	// MemberName and InitialCluster are those of the first member of a new cluster, which the others join by Replace.
	// Both are "" for a sole member.
	MemberName, InitialCluster string
}

// Restore creates the directory's store from a snapshot. The directory must have no data, and has none after an error.
func (d *Dir) Restore(source Snapshot) error {
	target := filepath.Join(d.path, etcdDir)
	if d.HasData() {
		return fmt.Errorf("data-dir %s has data; restore into another one, or move %s away first", d.path, target)
	}
	// An interrupted restore may have left this directory.
	partial := target + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return unwritable(d.path, err)
	}

	config := snapshot.RestoreConfig{
		SnapshotPath: source.Path, OutputDataDir: partial,
		Name: soleMember, PeerURLs: []string{solePeer}, InitialCluster: soleMember + "=" + solePeer, InitialClusterToken: clusterToken,
	}

	// The restored member is the first of the cluster. The others join by Replace.
	if source.MemberName != "" {
		cluster := Cluster{MemberName: source.MemberName, InitialCluster: source.InitialCluster}
		members, err := cluster.parseMembers()
		if err != nil || members[source.MemberName] == nil {
			return fmt.Errorf("--etcd-initial-cluster %q: it must name member %s with its URL (%v)", source.InitialCluster,
				source.MemberName, err)
		}
		config.Name, config.PeerURLs = source.MemberName, members[source.MemberName].StringSlice()
		config.InitialCluster = source.MemberName + "=" + members[source.MemberName].String()
	}
	if source.Bump > 0 {
		config.RevisionBump, config.MarkCompacted = uint64(source.Bump), true
	}

	if err := snapshot.NewV3(zap.NewNop()).Restore(config); err != nil {
		os.RemoveAll(partial)
		return fmt.Errorf("data-dir %s: %s cannot be restored: %w", d.path, source.Path, err)
	}

	// Rename last, so that a crash leaves no incomplete store.
	err := os.Chmod(partial, 0o700)
	if err == nil {
		err = d.SetMember(source.MemberName)
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

// Adopt moves the data of a sole member from another directory of the same file system into d, which must have no data.
// No process may run a member in either.
func (d *Dir) Adopt(other *Dir) error {
	if err := d.SetMember(""); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(other.path, etcdDir), filepath.Join(d.path, etcdDir)); err != nil {
		return unwritable(d.path, err)
	}
	return nil
}

// HasData reports whether a member has run in the directory, or a snapshot was restored there.
func (d *Dir) HasData() bool {
	_, err := os.Stat(filepath.Join(d.path, etcdDir))
	return err == nil
}
