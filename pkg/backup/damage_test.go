// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// damageOctets changes or cuts some octets.
func damageOctets(r *rand.Rand, whole []byte) []byte {
	octets := slices.Clone(whole)
	at := r.IntN(len(octets))
	switch r.IntN(4) {
	case 0:
		octets[at] ^= byte(1 << r.IntN(8))
	case 1: // digits stay digits, invisible to a parser
		for octets[at] < '0' || octets[at] > '9' {
			at = r.IntN(len(octets))
		}
		octets[at] = '0' + (octets[at]-'0'+byte(1+r.IntN(9)))%10
	case 2:
		for range 2 + r.IntN(30) {
			octets[r.IntN(len(octets))] = byte(r.IntN(256))
		}
	default:
		octets = slices.Delete(octets, at, min(at+1+r.IntN(64), len(octets)))
	}
	return octets
}

// A backup with a random change in its data or its manifest is refused with an error that names the file, and leaves
// nothing on disk. Otherwise the change was harmless, and the restored data is unchanged (B2, B3).
func TestRestore_ofRandomDamage(t *testing.T) {
	old := startStore(t, t.TempDir())
	store.Must(old.CreateZone(store.Zone("dns", "org", "example.org.")))
	file := filepath.Join(t.TempDir(), "backup")
	taken := store.Must(Take(t.Context(), old.where, file))
	whole, manifest := store.Must(os.ReadFile(file)), store.Must(os.ReadFile(ManifestFile(file)))
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	restored := 0
	for i := range 300 {
		snapshot, text := whole, manifest
		if i%2 == 0 {
			snapshot = damageOctets(r, whole)
		} else {
			text = damageOctets(r, manifest)
		}
		bad := filepath.Join(t.TempDir(), "bad")
		must.Succeed(t, errors.Join(os.WriteFile(bad, snapshot, 0o600), os.WriteFile(ManifestFile(bad), text, 0o600)))
		path, _, err := restoreBackup(t, bad)
		_, is := os.Stat(path)
		switch {
		case err != nil && !strings.Contains(err.Error(), bad) && !strings.Contains(err.Error(), "set the clock"):
			t.Errorf("change %d: %v names no file", i, err)
		case err != nil && !errors.Is(is, os.ErrNotExist):
			t.Errorf("change %d: something is left behind after %v", i, err)
		case err == nil:
			restored++
			if m, err := Verify(bad); err != nil || *m != *taken || !slices.Equal(snapshot, whole) {
				t.Errorf("change %d is restored: %s", i, text)
			}
		}
	}
	t.Logf("%d are refused; %d change nothing that the manifest says", 300-restored, restored)
}
