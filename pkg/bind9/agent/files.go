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

// zoneFiles is a directory of files such as "example.org.1f2e3d4c.zone". The random part protects files in use.
type zoneFiles struct{ dir string }

// maxFileName is the file systems' limit, less named's suffixes.
const maxFileName = 255 - len(".signed.jnl")

// A secondary's file is empty. named writes the zone file beside it after the first transfer.
const zoneKind, secondaryKind = "zone", "secondary"

var zoneFileName = regexp.MustCompile(`^((.+)\.[0-9a-f]{8}\.)(zone|secondary)$`)

func escapeZone(zone name.Name) string {
	if zone == name.Root {
		return "@"
	}
	return strings.ReplaceAll(strings.TrimSuffix(zone.String(), "."), "/", "%2F")
}

func unescapeZone(text string) (name.Name, error) {
	if text == "@" {
		return name.Root, nil
	}
	return name.Parse(strings.ReplaceAll(text, "%2F", "/") + ".")
}

// createFile writes and syncs the file of a new zone, and returns the path for named. Content of nil makes an empty
// marker for a secondary, and named writes the zone file of that path after its transfer.
func (f zoneFiles) createFile(zone name.Name, content []byte) (string, error) {
	var suffix [4]byte
	_, _ = rand.Read(suffix[:])
	start := escapeZone(zone) + "." + hex.EncodeToString(suffix[:]) + "."
	// Refused early, because named would fail only later, at the first journal.
	if len(start)+len(secondaryKind) > maxFileName {
		return "", refuse(http.StatusBadRequest, "zoneName: %d characters; a file name holds %d of them", len(zone.String()),
			maxFileName-len(secondaryKind)-10)
	}

	stem := filepath.Join(f.dir, start)
	target := stem + zoneKind
	if content == nil {
		target = stem + secondaryKind
	}

	// O_EXCL: the file of an existing zone is never written (A1).
	file, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", fmt.Errorf("file of a new zone: %w", err)
	}

	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("file of a new zone: %w", err), os.Remove(target))
	}
	return stem + zoneKind, nil
}

func (f zoneFiles) remove(path string) error {
	found := zoneFileName.FindStringSubmatch(filepath.Base(path))
	if filepath.Dir(path) != filepath.Clean(f.dir) || found == nil {
		return nil // a file of named.conf
	}
	return f.removeFiles(func(file string) bool { return strings.HasPrefix(file, found[1]) })
}

func (f zoneFiles) removeAll(zone name.Name) error {
	entries, err := os.ReadDir(f.dir)
	for _, entry := range entries {
		if found := zoneFileName.FindStringSubmatch(entry.Name()); found != nil && found[2] == escapeZone(zone) {
			err = errors.Join(err, f.remove(filepath.Join(f.dir, entry.Name())))
		}
	}
	return err
}

// removeFiles removes the files of the directory for which isOne returns true. A file gone meanwhile is no error, since
// named removes journals too.
func (f zoneFiles) removeFiles(isOne func(file string) bool) error {
	entries, err := os.ReadDir(f.dir)
	for _, entry := range entries {
		if !isOne(entry.Name()) {
			continue
		}
		if gone := os.Remove(filepath.Join(f.dir, entry.Name())); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// listZones returns the zones with a file of these kinds. Other files of the directory, such as journals and keys, are
// ignored.
func (f zoneFiles) listZones(kinds ...string) (map[name.Name]bool, error) {
	entries, err := os.ReadDir(f.dir)
	zones := map[name.Name]bool{}
	for _, entry := range entries {
		if found := zoneFileName.FindStringSubmatch(entry.Name()); found != nil && slices.Contains(kinds, found[3]) {
			if zone, err := unescapeZone(found[2]); err == nil {
				zones[zone] = true
			}
		}
	}
	return zones, err
}

func (f zoneFiles) checkWritable() error {
	file, err := os.CreateTemp(f.dir, ".ready-*")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}
