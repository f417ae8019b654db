// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// A job that writes a backup under a fixed name, and was killed at its end, writes a whole backup the next time (B5).
// Take overwrites only files that a stopped Take left. A restore of these names the file that is not there, and the
// remedy.
func TestTake_replacesOneThatWasStopped(t *testing.T) {
	old := startStore(t, t.TempDir())
	store.Must(old.CreateZone(store.Zone("dns", "org", "example.org.")))
	file := filepath.Join(t.TempDir(), "backup")
	partial, described := file+".partial", ManifestFile(file)
	store.Must(Take(t.Context(), old.where, file))
	manifest, whole := store.Must(os.ReadFile(ManifestFile(file))), store.Must(os.ReadFile(file))
	must.Succeed(t, os.Rename(file, partial))
	if _, _, err := restoreBackup(t, file); err == nil || !strings.Contains(err.Error(), "backup is not there, only its manifest; ") {
		t.Errorf("restored: %v", err)
	}

	for what, c := range map[string]struct {
		files map[string][]byte
		want  string // "" for a whole backup
	}{
		"stopped while it saved the snapshot":           {map[string][]byte{partial: whole[:100]}, ""},
		"stopped while it wrote the manifest":           {map[string][]byte{partial: whole, described + ".partial": manifest[:10]}, ""},
		"stopped between the manifest and the snapshot": {map[string][]byte{partial: whole, described: manifest}, ""},
		"whole":                           {map[string][]byte{file: whole, described: manifest}, "backup is there"},
		"a file of another program":       {map[string][]byte{file: []byte("tar")}, "backup is there"},
		"a manifest whose backup is away": {map[string][]byte{described: manifest}, "backup.manifest.json is there already"},
		"a manifest of another snapshot":  {map[string][]byte{partial: whole[:100], described: manifest}, "there already"},
		"a manifest of another program":   {map[string][]byte{partial: whole, described: []byte("{}")}, "there already"},
		"a backup beside a stopped one":   {map[string][]byte{file: whole, partial: whole, described: manifest}, "there already"},
	} {
		t.Run(what, func(t *testing.T) {
			entries := must.Get(os.ReadDir(filepath.Dir(file)))(t)
			for _, e := range entries {
				must.Succeed(t, os.Remove(filepath.Join(filepath.Dir(file), e.Name())))
			}
			for path, content := range c.files {
				must.Succeed(t, os.WriteFile(path, content, 0o600))
			}
			_, err := Take(t.Context(), old.where, file)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %q", err, c.want)
				}
				for path, content := range c.files {
					if now := string(must.Get(os.ReadFile(path))(t)); now != string(content) {
						t.Errorf("%s was changed", path)
					}
				}
				return
			}
			must.Succeed(t, err)
			if m, err := Verify(file); err != nil || m.Zones != 1 {
				t.Errorf("%v: %v", m, err)
			}
			if entries := must.Get(os.ReadDir(filepath.Dir(file)))(t); len(entries) != 2 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}
