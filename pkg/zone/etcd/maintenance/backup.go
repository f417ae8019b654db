// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// lastBackupKey returns the key of the time of the last complete backup, in RFC 3339. The time is written after the
// backup, so a backup contains the time of the previous backup.
func lastBackupKey(prefix string) string { return prefix + "/maintenance/last-backup" }

func WriteBackupTime(ctx context.Context, client *clientv3.Client, prefix string, at time.Time) error {
	_, err := client.Put(ctx, lastBackupKey(prefix), at.UTC().Format(time.RFC3339))
	return err
}

// measureBackup reads the time of the last backup into State and metric, for the alert about a late backup. Before the
// first backup it is zero.
func (k *Keeper) measureBackup(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer, err := k.client.Get(ctx, k.backupKey)
	if err != nil {
		return fmt.Errorf("etcd: the time of the last backup: %w", err)
	}
	if len(answer.Kvs) == 0 {
		k.setBackup(time.Time{})
		return nil
	}
	at, err := time.Parse(time.RFC3339, string(answer.Kvs[0].Value))
	if err != nil {
		return fmt.Errorf("%s: %w; kubizone backup writes it anew", k.backupKey, err)
	}
	k.setBackup(at)
	return nil
}

func (k *Keeper) setBackup(at time.Time) {
	seconds := 0.0
	if !at.IsZero() {
		seconds = float64(at.Unix())
	}
	k.metrics.backup.Set(seconds)
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.state.LastBackup = at
}
