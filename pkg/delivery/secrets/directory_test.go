// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	for path, text := range map[string]string{"in/dns/hook/key": "v", "in/dns/hook/..data": "hidden", "out/hook/key": "outside"} {
		path = filepath.Join(dir, path)
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	}
	secrets := Directory(filepath.Join(dir, "in"))
	data, err := secrets.Get(t.Context(), "dns", "hook")
	if err != nil || len(data) != 1 || string(data["key"]) != "v" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := secrets.Get(t.Context(), "dns", "none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("none: %v", err)
	}
	for _, in := range []Directory{secrets, Directory(filepath.Join(dir, "nowhere"))} {
		_, err := in.Get(t.Context(), "dns", "none")
		if want := filepath.Join(string(in), "dns", "none", "KEY"); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	if data, err := secrets.Get(t.Context(), "../out", "hook"); err == nil {
		t.Errorf("led out of the directory, to %q", data)
	}
	_, err = Directory("").Get(t.Context(), "dns", "hook")
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "--secrets-dir") {
		t.Errorf("no directory: %v", err)
	}
}

// Create neither replaces an existing Secret nor writes outside the directory.
func TestDirectory_create(t *testing.T) {
	dir := t.TempDir()
	secrets, data := Directory(filepath.Join(dir, "new")), map[string]string{"name": "acme.team-a.", "secret": "c2VjcmV0"}
	must.Succeed(t, secrets.Create("team-a", "acme", data))
	for key, want := range data {
		if got := must.Get(secrets.Get(t.Context(), "team-a", "acme"))(t)[key]; string(got) != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
		if info := must.Get(os.Stat(filepath.Join(dir, "new/team-a/acme", key)))(t); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", key, info.Mode())
		}
	}
	if err := secrets.Create("team-a", "acme", map[string]string{"name": "other."}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second one: %v", err)
	}
	if err := secrets.Create("..", "outside", data); err == nil {
		t.Error("led out of the directory")
	}
	must.Succeed(t, secrets.Delete("team-a", "acme"))
	if data, err := secrets.Get(t.Context(), "team-a", "acme"); !errors.Is(err, ErrNotFound) {
		t.Errorf("after the deletion: %q, %v", data, err)
	}
}
