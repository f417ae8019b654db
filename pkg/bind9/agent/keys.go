// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
)

var keyOwner = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9_./]{0,252}$`)

var keyEnd = regexp.MustCompile(`^\+\d{3}\+\d{5}\.(?:key|private|state)$`)

// keyOwnerName matches the file with the owner of a zone's keys. Its modification time is the time of the zone's
// removal.
var keyOwnerName = regexp.MustCompile(`^K(.+)\.owner$`)

func (f zoneFiles) keyOwnerPath(zone name.Name) string {
	return filepath.Join(f.dir, "K"+escapeZone(zone)+".owner")
}

func (f zoneFiles) readKeyOwner(zone name.Name) (string, error) {
	owner, err := os.ReadFile(f.keyOwnerPath(zone))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(owner), err
}

// writeKeyOwner stores the owner of a zone's keys atomically, because keys without an owner would sign any owner's
// zone. An owner of "" is not stored.
func (f zoneFiles) writeKeyOwner(zone name.Name, owner string) error {
	if owner == "" {
		return nil
	}
	path := f.keyOwnerPath(zone)
	file, err := os.CreateTemp(f.dir, "key-owner-*")
	if err != nil {
		return fmt.Errorf("owner of keys: %w", err)
	}
	_, err = file.WriteString(owner)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("owner of keys: %w", err), os.Remove(file.Name()))
	}
	return nil
}

type orphanedKeys struct {
	zone  name.Name
	owner string
	since time.Time
}

func (f zoneFiles) markOrphaned(zone name.Name, now time.Time) error {
	if err := os.Chtimes(f.keyOwnerPath(zone), now, now); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// listOrphanedKeys returns the keys of zones without a file, which are removed zones, the latest first. Keys without an
// owner file are left out: no request has named an owner.
func (f zoneFiles) listOrphanedKeys() ([]orphanedKeys, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	made, err := f.listZones(zoneKind, secondaryKind)
	if err != nil {
		return nil, err
	}

	var left []orphanedKeys
	for _, entry := range entries {
		found := keyOwnerName.FindStringSubmatch(entry.Name())
		if found == nil {
			continue
		}
		zone, err := unescapeZone(found[1])
		if err != nil || made[zone] {
			continue
		}

		one := orphanedKeys{zone: zone}
		info, err := entry.Info()
		if err == nil {
			one.owner, err = f.readKeyOwner(zone)
		}

		// Another request has removed the keys since the list.
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		one.since = info.ModTime()
		left = append(left, one)
	}
	slices.SortStableFunc(left, func(a, b orphanedKeys) int { return b.since.Compare(a.since) })
	return left, nil
}

// removeKeys deletes a zone's key files, and then the file with their owner. Missing files are no error.
func (f zoneFiles) removeKeys(zone name.Name) error {
	// Kexample.org.+013+04711.key, and for the root K.+013+04711.key.
	start := "K" + escapeZone(zone) + "."
	if zone == name.Root {
		start = "K."
	}
	err := f.removeFiles(func(file string) bool {
		end, of := strings.CutPrefix(file, start)
		return of && keyEnd.MatchString(end)
	})
	if err != nil {
		return err // remaining keys keep their owner
	}
	if err := os.Remove(f.keyOwnerPath(zone)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

const (
	// Keys of removed zones are kept for keyTime, of maxOrphanedKeys zones per owner (a request's keyOwner), so that
	// they do not fill the disk.
	keyTime, maxOrphanedKeys = 7 * 24 * time.Hour, 100
)

// SweepKeys deletes old DNSSEC keys of removed zones at once and at each tick, until ctx ends.
func (a *Agent) SweepKeys(ctx context.Context, ticks <-chan time.Time) {
	atOnceAndTicks(ctx, ticks, func() {
		if err := a.removeOldKeys(ctx); err != nil && ctx.Err() == nil {
			a.config.Logger.Warn("keys of removed zones could not be deleted; this is retried", "err", err)
		}
	})
}

// removeOldKeys deletes keys older than keyTime, and an owner's keys beyond the latest maxOrphanedKeys zones. An error
// for a zone does not keep the others.
func (a *Agent) removeOldKeys(ctx context.Context) error {
	left, err := a.files.listOrphanedKeys()
	count := map[string]int{}
	for _, keys := range left {
		if count[keys.owner]++; count[keys.owner] > maxOrphanedKeys || a.config.Now().Sub(keys.since) >= keyTime {
			err = errors.Join(err, a.removeOrphanedKeys(ctx, keys.zone))
		}
	}
	return err
}

// removeOrphanedKeys deletes the keys of a zone if named has no such zone. The lock keeps a POST from using the keys in
// between.
func (a *Agent) removeOrphanedKeys(ctx context.Context, zone name.Name) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	defer a.lockZone(zone)()
	_, err := a.readStatus(ctx, zone)
	// The zone is back, or named does not answer: keys in use must stay.
	if p := (*problem)(nil); !errors.As(err, &p) || p.status != http.StatusNotFound {
		return err
	}
	return a.files.removeKeys(zone)
}
