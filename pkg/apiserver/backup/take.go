// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/snapshot"
	"go.uber.org/zap"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/kit/version"
	"kubi.zone/kubizone/pkg/zone/etcd/maintenance"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

const dialTimeout = 10 * time.Second

// Take writes a snapshot of etcd to a file, and a manifest beside the snapshot. Neither file may exist, except those of
// a stopped Take.
func Take(ctx context.Context, transport storagebackend.TransportConfig, file string) (*Manifest, error) {
	partial := file + ".partial"
	if err := checkFree(file, partial); err != nil {
		return nil, err
	}
	if dir, err := os.Stat(filepath.Dir(file)); err != nil || !dir.IsDir() {
		return nil, fmt.Errorf("%s cannot be written: %s is no directory; make it, or name another file", file, filepath.Dir(file))
	}

	// Write the snapshot under another name, and describe it in the manifest.
	manifest := &Manifest{Kind: kind, Version: manifestVersion, Time: time.Now().UTC().Truncate(time.Second), Kubizone: version.Number()}
	defer os.Remove(partial)
	if err := manifest.saveSnapshot(ctx, transport, partial); err != nil {
		return nil, err
	}
	if err := manifest.readContents(partial); err != nil {
		return nil, err
	}
	var err error
	manifest.Bytes, manifest.SHA256, err = digestFile(partial)
	if err != nil {
		return nil, err
	}

	// The snapshot gets its name last, so a snapshot of that name always has a manifest. A Take that is killed before
	// leaves a manifest with the partial snapshot, and checkFree recognizes the pair.
	if err := manifest.writeFile(file); err != nil {
		return nil, err
	}
	if err := os.Rename(partial, file); err != nil {
		return nil, errors.Join(err, os.Remove(ManifestFile(file)))
	}
	return manifest, syncDir(filepath.Dir(file))
}

// checkFree returns an error if Take would overwrite a file. The manifest of the snapshot in partial passes, because a
// stopped Take left both. A manifest alone does not: a backup that was moved away needs its manifest.
func checkFree(file, partial string) error {
	for _, path := range []string{file, ManifestFile(file)} {
		_, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		// Only the manifest may remain of a stopped Take, with the partial snapshot that it describes.
		isStopped := false
		if path != file {
			m, err := readManifest(file)
			isStopped = err == nil && m.verifyFile(partial) == nil
		}
		if !isStopped {
			return fmt.Errorf("%s is there already; name another file", path)
		}
	}
	return nil
}

// WriteTime stores the backup's time in etcd, for the alert about a late backup.
func (m *Manifest) WriteTime(ctx context.Context, where storagebackend.TransportConfig) error {
	config, err := clientConfig(where)
	if err != nil {
		return err
	}
	client, err := clientv3.New(config)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return maintenance.WriteBackupTime(ctx, client, apiserver.Prefix, m.Time)
}

func clientConfig(where storagebackend.TransportConfig) (clientv3.Config, error) {
	config := clientv3.Config{Endpoints: where.ServerList, DialTimeout: dialTimeout, Logger: zap.NewNop()}
	if where.CertFile != "" || where.KeyFile != "" || where.TrustedCAFile != "" {
		var err error
		files := transport.TLSInfo{CertFile: where.CertFile, KeyFile: where.KeyFile, TrustedCAFile: where.TrustedCAFile}
		if config.TLS, err = files.ClientConfig(); err != nil {
			return config, fmt.Errorf("etcd %v: %w", where.ServerList, err)
		}
	}
	return config, nil
}

// saveSnapshot writes a snapshot of the first member that answers, and sets m.Etcd. The error has a line for each
// member tried.
func (m *Manifest) saveSnapshot(ctx context.Context, where storagebackend.TransportConfig, path string) error {
	config, err := clientConfig(where)
	if err != nil {
		return err
	}
	var wrong []error
	for _, endpoint := range where.ServerList {
		config.Endpoints = []string{endpoint}
		one := where
		one.ServerList = config.Endpoints
		err := apiserver.Reachable(ctx, one)
		if err == nil {
			// A snapshot reads the member's own file, which may lag behind the leader.
			if err = awaitAnsweredWrites(ctx, config); err == nil {
				m.Etcd, err = snapshot.SaveWithVersion(ctx, zap.NewNop(), config, path)
			}
			if err == nil {
				return nil
			}
			err = fmt.Errorf("etcd %s: %w", endpoint, err)
		}
		wrong = append(wrong, err)
		// The caller has given up, so the other members cannot help.
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(wrong...)
}

// awaitAnsweredWrites makes a linearizable read at the member, so that a later snapshot has every answered write (B1).
func awaitAnsweredWrites(ctx context.Context, config clientv3.Config) error {
	client, err := clientv3.New(config)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	keys := layout.Keys{Prefix: apiserver.Prefix}
	answer, err := client.Get(ctx, keys.Config())
	if err != nil {
		return err
	}
	// Any other etcd, such as kube-apiserver's, gives a valid snapshot too.
	if len(answer.Kvs) == 0 {
		return fmt.Errorf("it holds no data of kubizone: %s is not there; is this the right etcd?", keys.Config())
	}
	return nil
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
