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

// keyOwner is what an owner of keys may be.
var keyOwner = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9_./]{0,252}$`)

// keyEnd is the name of a file of a key behind "K" and the zone: algorithm, tag, and what the file has.
var keyEnd = regexp.MustCompile(`^\+\d{3}\+\d{5}\.(?:key|private|state)$`)

// keyOwnerName is the name of a file that has the owner of the keys of a zone. Since the zone was removed it has the
// time of that.
var keyOwnerName = regexp.MustCompile(`^K(.+)\.owner$`)

func (f zoneFiles) keyOwnerPath(zone name.Name) string {
	return filepath.Join(f.dir, "K"+escapeZone(zone)+".owner")
}

// readKeyOwner returns whose the keys of a zone are, "" for keys that were put there by hand.
func (f zoneFiles) readKeyOwner(zone name.Name) (string, error) {
	owner, err := os.ReadFile(f.keyOwnerPath(zone))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(owner), err
}

// writeKeyOwner writes the owner whole or not at all: keys without one sign the zone of each owner.
func (f zoneFiles) writeKeyOwner(zone name.Name, owner string) error {
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

// leftKeys are keys of a zone that was removed.
type leftKeys struct {
	zone  name.Name
	owner string
	since time.Time
}

// leaveKeys notes when a zone is removed and its keys stay.
func (f zoneFiles) leaveKeys(zone name.Name, now time.Time) error {
	if err := os.Chtimes(f.keyOwnerPath(zone), now, now); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// listLeftKeys returns the keys that have an owner and whose zone has no file here, those that were left last first.
func (f zoneFiles) listLeftKeys() ([]leftKeys, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	made, err := f.listZones(zoneKind, secondaryKind)
	if err != nil {
		return nil, err
	}
	var left []leftKeys
	for _, entry := range entries {
		found := keyOwnerName.FindStringSubmatch(entry.Name())
		if found == nil {
			continue
		}
		zone, err := unescapeZone(found[1])
		if err != nil || made[zone] {
			continue
		}
		one := leftKeys{zone: zone}
		info, err := entry.Info()
		if err == nil {
			one.owner, err = f.readKeyOwner(zone)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue // it went meanwhile
		}
		if err != nil {
			return nil, err
		}
		one.since = info.ModTime()
		left = append(left, one)
	}
	slices.SortStableFunc(left, func(a, b leftKeys) int { return b.since.Compare(a.since) })
	return left, nil
}

// removeKeys removes the keys by which named signed a zone. Named must not have the zone.
func (f zoneFiles) removeKeys(zone name.Name) error {
	start := "K" + escapeZone(zone) + "."
	if zone == name.Root {
		start = "K."
	}
	err := f.removeFiles(func(file string) bool {
		end, of := strings.CutPrefix(file, start)
		return of && keyEnd.MatchString(end)
	})
	if err != nil {
		return err // the keys that are left keep their owner
	}
	if err := os.Remove(f.keyOwnerPath(zone)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

const (
	// keyTime is how long the keys of a removed zone stay, and maxLeftKeys the number of zones of one owner whose keys
	// do: an owner that makes and removes zones without end must not fill the disk.
	keyTime, maxLeftKeys = 7 * 24 * time.Hour, 100
)

// SweepKeys removes keys of zones that were removed, until ctx ends: once at first and then at each tick.
func (a *Agent) SweepKeys(ctx context.Context, ticks <-chan time.Time) {
	for {
		if err := a.removeOldKeys(ctx); err != nil && ctx.Err() == nil {
			a.config.Logger.Warn("keys of zones that were removed are left; they are removed later", "err", err)
		}
		select {
		case <-ticks:
		case <-ctx.Done():
			return
		}
	}
}

// removeOldKeys removes the keys that have been left for keyTime, and of each owner the oldest beyond maxLeftKeys. Keys
// without an owner were put there by hand and stay.
func (a *Agent) removeOldKeys(ctx context.Context) error {
	left, err := a.files.listLeftKeys()
	count := map[string]int{}
	for _, keys := range left {
		if count[keys.owner]++; count[keys.owner] > maxLeftKeys || a.config.Now().Sub(keys.since) >= keyTime {
			err = errors.Join(err, a.removeLeftKeys(ctx, keys.zone))
		}
	}
	return err
}

func (a *Agent) removeLeftKeys(ctx context.Context, zone name.Name) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	defer a.lockZone(zone)()
	_, err := a.readStatus(ctx, zone)
	if p := (*problem)(nil); !errors.As(err, &p) || p.status != http.StatusNotFound {
		return err // named has it again, or does not answer
	}
	return a.files.removeKeys(zone)
}
