// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/zone/etcd/embed"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

const (
	kind            = "KubizoneBackup"
	manifestVersion = 1
)

// Manifest describes a backup. It is the JSON file BACKUP.manifest.json beside the backup.
type Manifest struct {
	Kind    string `json:"kind"`
	Version int    `json:"version"` // of the manifest's form
	// Time is when the backup began.
	Time time.Time `json:"time"`
	// Kubizone and Etcd are the versions of the programs.
	Kubizone string `json:"kubizone"`
	Etcd     string `json:"etcd"`
	// Format is the version of the stored data. LeastReader is the least version that a program must know to read the
	// data.
	Format      int   `json:"format"`
	LeastReader int   `json:"leastReader,omitempty"`
	Revision    int64 `json:"revision"` // etcd's last
	Zones       int   `json:"zones"`
	Records     int   `json:"records"`
	// Bytes is the size of the backup, SHA256 its digest in hex.
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Sum is the SHA-256 digest of this manifest without Sum, in hex. It detects a changed Time, which would give
	// restored zones wrong serials.
	Sum string `json:"sum"`
}

func (m Manifest) sum() string {
	m.Sum = ""
	text, err := json.Marshal(m)
	if err != nil {
		return "" // equal to no Sum
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func (m *Manifest) String() string { return fmt.Sprintf("%d zones and %d records", m.Zones, m.Records) }

func ManifestFile(backup string) string { return backup + ".manifest.json" }

// readManifest reads the manifest beside a backup, and checks that this program can read the store, and that the
// manifest is unchanged. The backup itself is not read.
func readManifest(backup string) (*Manifest, error) {
	text, err := os.ReadFile(ManifestFile(backup))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is no whole backup: %s is not beside it; copy both files, or take another backup", backup,
			ManifestFile(backup))
	}
	if err != nil {
		return nil, err
	}
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil || m.Kind != kind {
		return nil, fmt.Errorf("%s is no manifest of a backup of kubizone (kind %q, %v); name the file that kubizone backup wrote",
			ManifestFile(backup), m.Kind, err)
	}
	// This program would ignore new fields of the manifest, or could not read the store.
	if m.Version > manifestVersion || m.LeastReader > ledger.Format {
		return nil, fmt.Errorf("%s is of a newer kubizone, %s (manifest version %d, of a store for programs that know format %d; "+
			"this one knows %d and %d); restore it with that one", backup, m.Kubizone, m.Version, m.LeastReader, manifestVersion,
			ledger.Format)
	}
	if err := ledger.CheckFirstFormat(m.Format); err != nil {
		return nil, fmt.Errorf("%s is of kubizone %s: %w", backup, m.Kubizone, err)
	}
	if m.Sum != m.sum() {
		return nil, fmt.Errorf("%s is damaged: it is not what kubizone backup wrote; copy it again, or take another backup",
			ManifestFile(backup))
	}
	return &m, nil
}

// Verify returns the manifest of a whole backup. The error names the file that is missing, cut or another one.
func Verify(backup string) (*Manifest, error) {
	m, err := readManifest(backup)
	if err != nil {
		return nil, err
	}
	return m, m.verifyFile(backup)
}

// verifyFile compares size and digest of a file with the manifest.
func (m *Manifest) verifyFile(backup string) error {
	size, sum, err := digestFile(backup)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is not there, only its manifest; copy both files, or take another backup", backup)
	case err != nil:
		return err
	// The file was copied only in part.
	case size < m.Bytes:
		return fmt.Errorf("%s is cut: it has %d octets of %d; copy it again, or take another backup", backup, size, m.Bytes)
	case size != m.Bytes || sum != m.SHA256:
		return fmt.Errorf("%s is not the file of its manifest: %d octets with SHA-256 %s, not %d with %s; copy both again, "+
			"or take another backup", backup, size, sum, m.Bytes, m.SHA256)
	}
	return nil
}

// readContents counts the objects in the snapshot, because a server would count at another moment.
func (m *Manifest) readContents(path string) error {
	keys := layout.Keys{Prefix: apiserver.Prefix}
	zones, records := map[string]bool{}, map[string]bool{}
	live := map[string]map[string]bool{keys.Objects("zones"): zones, keys.Objects("records"): records}
	var config []byte
	err := embed.ReadSnapshot(path, func(change embed.Change) {
		// Changes come in order of revision, so the last revision and the last state of each key remain.
		m.Revision = change.Revision
		for prefix, keys := range live {
			switch {
			case !strings.HasPrefix(change.Key, prefix):
			case change.Deleted:
				delete(keys, change.Key)
			default:
				keys[change.Key] = true
			}
		}
		if change.Key == keys.Config() {
			config = append([]byte{}, change.Value...)
		}
	})
	if err != nil {
		return err
	}
	var format struct {
		Format      int `json:"format"`
		LeastReader int `json:"leastReader"`
	}
	if err := json.Unmarshal(config, &format); err != nil || format.Format == 0 {
		return fmt.Errorf("%s holds no data of kubizone: %s is %q; is this the right etcd?", path, keys.Config(), config)
	}
	if err := ledger.CheckFirstFormat(format.Format); err != nil {
		return err
	}
	m.Format, m.LeastReader = format.Format, format.LeastReader
	m.Zones, m.Records = len(zones), len(records)
	return nil
}

// writeFile writes the manifest beside a backup, onto the disk. The file gets its name when it is whole.
func (m *Manifest) writeFile(backup string) error {
	m.Sum = m.sum()
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	unfinished := ManifestFile(backup) + ".partial"
	defer os.Remove(unfinished)
	file, err := os.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(unfinished, ManifestFile(backup)); err != nil {
		return err
	}
	return syncDir(filepath.Dir(backup))
}

// digestFile returns size and SHA-256 (hex) of a file.
func digestFile(path string) (size int64, sum string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer file.Close()
	hash := sha256.New()
	if size, err = io.Copy(hash, file); err != nil {
		return 0, "", fmt.Errorf("%s: %w", path, err)
	}
	return size, hex.EncodeToString(hash.Sum(nil)), nil
}
