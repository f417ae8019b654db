// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/test/must"
)

func makeDamagedDirectory(t *testing.T, damage func(t *testing.T, etcd string)) *Dir {
	t.Helper()
	path := t.TempDir()
	dir := openDirectory(t, path)
	m := startMember(t, dir)
	for _, key := range []string{"a", "b", "c"} {
		must.Get(connectMember(t, m).Put(t.Context(), key, strings.Repeat("v", 4096)))(t)
	}
	m.Stop()
	damage(t, filepath.Join(path, etcdDir))
	return dir
}

func walFile(t *testing.T, etcd string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(etcd, "member", "wal", "*.wal"))
	if err != nil || len(files) != 1 {
		t.Fatalf("write-ahead log: %q, %v", files, err)
	}
	return files[0]
}

func overwriteFile(t *testing.T, path string, at int64) {
	t.Helper()
	file := must.Get(os.OpenFile(path, os.O_WRONLY, 0))(t)
	defer file.Close()
	must.Get(file.WriteAt([]byte(strings.Repeat("damage", 2000)), at))(t)
}

// E4: the error advises a restart only where a restart helps.
func TestStart_damagedFilesAreNoReasonToStartAgain(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, etcd string){
		"database":        func(t *testing.T, etcd string) { overwriteFile(t, filepath.Join(etcd, "member", "snap", "db"), 0) },
		"write-ahead log": func(t *testing.T, etcd string) { overwriteFile(t, walFile(t, etcd), 600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := makeDamagedDirectory(t, damage)
			m, err := Start(t.Context(), Config{Dir: dir})
			if err == nil {
				m.Stop()
				t.Fatal("it started")
			}
			for _, want := range []string{dir.Path(), "does not start", "keep a copy"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "start again: acknowledged writes are kept") {
				t.Errorf("%q promises what is not known", err)
			}
		})
	}
}

// An etcd that lost entries of its log waits forever.
func TestStart_isStoppedWhereItCannotBecomeReady(t *testing.T) {
	dir := makeDamagedDirectory(t, func(t *testing.T, etcd string) {
		must.Succeed(t, os.Truncate(walFile(t, etcd), 4000))
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	began := time.Now()
	m, err := Start(ctx, Config{Dir: dir})
	if err == nil {
		m.Stop()
		t.Skip("this etcd starts on a log that lost its end")
	}
	if elapsed := time.Since(began); elapsed > time.Minute {
		t.Errorf("stopped after %s: %v", elapsed, err)
	}
}
