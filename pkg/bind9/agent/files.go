// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
)

// zoneFiles are the files of zones in one directory, "example.org.1f2e3d4c.zone". The middle part is new for each zone
// that is made, so no file that named has, or still writes to, is written by the agent (A1).
type zoneFiles struct{ dir string }

// maxFileName is what file systems take, less what named adds (".signed.jnl").
const maxFileName = 255 - len(".signed.jnl")

// markSuffix is that of an empty file beside a secondary's, which is there only after the first transfer.
const zoneSuffix, markSuffix = ".zone", ".secondary"

var zoneFileName = regexp.MustCompile(`^(.+)\.[0-9a-f]{8}\.(?:zone|secondary)$`)

// escapeZone is a zone in a file name. "@" stands for the root; it is in no name of a zone.
func escapeZone(zone name.Name) string {
	if zone == name.Root {
		return "@"
	}
	return strings.ReplaceAll(strings.TrimSuffix(zone.String(), "."), "/", "%2F")
}

func unescapeZone(text string) string {
	if text == "@" {
		return "."
	}
	return strings.ReplaceAll(text, "%2F", "/")
}

// createFile makes the files of a new zone and returns the path of the one that named loads or writes. Nil content is
// that of a secondary.
func (f zoneFiles) createFile(zone name.Name, content []byte) (string, error) {
	var suffix [4]byte
	_, _ = rand.Read(suffix[:]) // never fails
	base := escapeZone(zone) + "." + hex.EncodeToString(suffix[:])
	if len(base)+len(markSuffix) > maxFileName {
		return "", refuse(http.StatusBadRequest, "zoneName: %d characters; a file name holds %d of them", len(zone.String()),
			maxFileName-len(markSuffix)-9)
	}
	stem := filepath.Join(f.dir, base)
	target := stem + zoneSuffix
	if content == nil {
		target = stem + markSuffix
	}
	file, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", fmt.Errorf("file of a new zone: %w", err)
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("file of a new zone: %w", err), os.Remove(target))
	}
	return stem + zoneSuffix, nil
}

// remove removes the files of one zone, path and what named has made beside it. Keys stay: they belong to the name.
func (f zoneFiles) remove(path string) error {
	base := filepath.Base(path)
	if filepath.Dir(path) != filepath.Clean(f.dir) || !zoneFileName.MatchString(base) {
		return nil // a file of the configuration
	}
	return f.removeBeginning(strings.TrimSuffix(base, zoneSuffix) + ".")
}

// removeAll removes what is left of earlier zones of that name. Named must not have the zone.
func (f zoneFiles) removeAll(zone name.Name) error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if found := zoneFileName.FindStringSubmatch(entry.Name()); found != nil && found[1] == escapeZone(zone) {
			err = errors.Join(err, f.removeBeginning(strings.TrimSuffix(strings.TrimSuffix(entry.Name(), zoneSuffix), markSuffix)+"."))
		}
	}
	return err
}

func (f zoneFiles) removeBeginning(start string) error {
	entries, err := os.ReadDir(f.dir)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), start) {
			if gone := os.Remove(filepath.Join(f.dir, entry.Name())); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
	}
	return err
}

// listZones returns the zones that have files here, sorted, without the dot at their end.
func (f zoneFiles) listZones() ([]string, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	zones := []string{}
	for _, entry := range entries {
		if found := zoneFileName.FindStringSubmatch(entry.Name()); found != nil {
			zones = append(zones, unescapeZone(found[1]))
		}
	}
	slices.Sort(zones)
	return slices.Compact(zones), nil
}

// listContent returns the zones of which named has a file: of a secondary it has one from the first transfer on.
func (f zoneFiles) listContent() ([]name.Name, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	var zones []name.Name
	for _, entry := range entries {
		found := zoneFileName.FindStringSubmatch(entry.Name())
		if found == nil || !strings.HasSuffix(entry.Name(), zoneSuffix) {
			continue
		}
		if zone, err := name.Parse(strings.TrimSuffix(unescapeZone(found[1]), ".") + "."); err == nil {
			zones = append(zones, zone)
		}
	}
	return zones, nil
}

func (f zoneFiles) checkWritable() error {
	file, err := os.CreateTemp(f.dir, ".ready-*")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}
