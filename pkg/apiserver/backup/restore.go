// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/snapshot"
	"go.uber.org/zap"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/zone/etcd/embed"
	"kubi.zone/kubizone/pkg/zone/ledger/fsck"
)

// Restore configures the restore of a backup into a new data directory of etcd.
type Restore struct {
	// Backup is the path of the file that Take wrote, beside the manifest.
	Backup string
	// DataDir is created if absent. A directory with data is an error.
	DataDir string
	// AheadOf is the path of an older backup that was restored after Backup was taken; "" for none. The new store is
	// then ahead of that restore too. Only the manifest is read.
	AheadOf string
	// EncryptionProviderConfigFile is kube-apiserver's --encryption-provider-config; "" without encryption.
	EncryptionProviderConfigFile string
	// MemberName and InitialCluster restore the first member of a new cluster (embed.Snapshot). "" for a sole member.
	MemberName, InitialCluster string
	// Report receives a line for each action, Log the lines of etcd's log.
	Report func(line string)
	Log    func(line string)
}

// Run restores the backup and returns fsck's clean report. After an error the directory has no data.
func (r *Restore) Run(ctx context.Context) (*fsck.Report, error) {
	// Check backup and clock, before anything is written.
	clock := Clock{Now: time.Now()}
	manifest, err := Verify(r.Backup)
	if err != nil {
		return nil, err
	}
	clock.Since = manifest.Time
	// The restore of an older backup may have raised numbers further.
	if r.AheadOf != "" {
		older, err := readManifest(r.AheadOf)
		if err != nil {
			return nil, fmt.Errorf("--ahead-of: %w", err)
		}
		if older.Time.Before(clock.Since) {
			clock.Since = older.Time
		}
	}
	if err := clock.check(); err != nil {
		return nil, err
	}
	if err := embed.CheckSnapshot(r.Backup); err != nil {
		return nil, err
	}
	r.Report(fmt.Sprintf("%s: %s at revision %d, taken %s", r.Backup, manifest, manifest.Revision,
		manifest.Time.Format("2006-01-02 15:04:05 MST")))
	// A directory that Restore creates goes again after an error.
	_, statErr := os.Stat(r.DataDir)
	// Require space for two copies of the snapshot, and to start etcd.
	dir, err := embed.OpenDir(r.DataDir, embed.DefaultMinFreeBytes+uint64(2*manifest.Bytes))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if dir.HasData() {
		return nil, fmt.Errorf("data-dir %s has data; name a directory without", dir.Path())
	}

	// Prepare the store below work, so that a crash leaves no incomplete store in dir.
	work := filepath.Join(dir.Path(), "restoring")
	report, err := r.prepareInto(ctx, dir, work, manifest, clock)
	if cleaning := os.RemoveAll(work); err == nil && cleaning != nil {
		err = cleaning
	}
	if err != nil && os.IsNotExist(statErr) {
		os.RemoveAll(dir.Path())
	}
	return report, err
}

// prepareInto restores the backup below work, raises revisions and serials, checks the store, and moves it into dir.
// After an error, dir has no data.
func (r *Restore) prepareInto(ctx context.Context, dir *embed.Dir, work string, manifest *Manifest, at Clock) (_ *fsck.Report, err error) {
	defer func() {
		if fault := recover(); fault != nil { // etcd panics at damage undetected in the file
			err = fmt.Errorf("%s cannot be restored: %v; take another backup", r.Backup, fault)
		}
	}()
	if err := os.RemoveAll(work); err != nil { // of an interrupted restore
		return nil, err
	}
	scratch, err := embed.OpenDir(filepath.Join(work, "store"), 0)
	if err != nil {
		return nil, err
	}
	defer scratch.Close()
	if err := scratch.Restore(embed.Snapshot{Path: r.Backup, Bump: at.Revision(manifest.Revision) - manifest.Revision}); err != nil {
		return nil, err
	}
	finished := filepath.Join(work, "snapshot")
	report, err := r.raiseStore(ctx, scratch, finished, at)
	if err != nil {
		return nil, err
	}
	// A cluster's member gets another identity, so the store is restored once more, from a snapshot of the raised
	// store.
	if r.MemberName == "" {
		return report, dir.Adopt(scratch)
	}
	return report, dir.Restore(embed.Snapshot{Path: finished, MemberName: r.MemberName, InitialCluster: r.InitialCluster})
}

// raiseStore starts etcd on the restored store, raises all serials and runs fsck. For a cluster it also writes the
// snapshot finished. Damage is an error with fsck's report.
func (r *Restore) raiseStore(ctx context.Context, scratch *embed.Dir, finished string, at Clock) (*fsck.Report, error) {
	member, err := embed.Start(ctx, embed.Config{Dir: scratch, Log: r.Log})
	if err != nil {
		return nil, err
	}
	defer member.Stop()
	source := apiserver.Source{
		Etcd:                         storagebackend.TransportConfig{ServerList: member.Endpoints()},
		EncryptionProviderConfigFile: r.EncryptionProviderConfigFile,
	}
	zones, limited, err := raiseSerials(ctx, source, at)
	if err != nil {
		return nil, err
	}
	r.Report(fmt.Sprintf("moved the serials of %d zones ahead, by the milliseconds since %s", zones,
		at.Since.Format("2006-01-02 15:04:05 MST")))
	if limited > 0 {
		r.Report(fmt.Sprintf("%d of them by less, for lack of serials: if that backup was restored before, "+
			"secondaries can be ahead of them now, and these zones report SerialBehind (docs/operations.md, Restore)", limited))
	}

	// Check after the raise, because the raise writes each zone by the code of a server.
	report, err := Check(ctx, source)
	if err != nil {
		return nil, err
	}
	if !report.Clean() {
		var text strings.Builder
		_ = report.WriteText(&text)
		return nil, fmt.Errorf("what %s holds is damaged, and nothing was restored:\n%s", r.Backup, text.String())
	}
	if r.MemberName != "" {
		config := clientv3.Config{Endpoints: member.Endpoints(), DialTimeout: dialTimeout, Logger: zap.NewNop()}
		if _, err := snapshot.SaveWithVersion(ctx, zap.NewNop(), config, finished); err != nil {
			return nil, fmt.Errorf("data-dir %s: %w", r.DataDir, err)
		}
	}
	return &report, nil
}

// Check reports where stored data derived from Zones and Records, such as counts, differ from them. Nothing is
// repaired. A server may run meanwhile.
func Check(ctx context.Context, source apiserver.Source) (fsck.Report, error) {
	client, codecOf, err := source.Open(ctx)
	if err != nil {
		return fsck.Report{}, err
	}
	defer client.Close()
	return fsck.Run(ctx, fsck.Config{
		Client: client.Client, Prefix: apiserver.Prefix, Zones: codecOf("zones"), Records: codecOf("records"),
		Delegations: codecOf("delegations"), Further: codecOf,
	})
}
