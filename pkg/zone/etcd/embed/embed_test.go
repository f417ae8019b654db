// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"kubi.zone/kubizone/test/must"
)

func openDirectory(t *testing.T, path string) *Dir {
	t.Helper()
	dir := must.Get(OpenDir(path, 1))(t)
	t.Cleanup(func() { dir.Close() })
	return dir
}

func startMember(t *testing.T, dir *Dir) *Member {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m := must.Get(Start(ctx, Config{Dir: dir, Log: func(line string) { t.Log(line) }}))(t)
	t.Cleanup(m.Stop)
	return m
}

func connectMember(t *testing.T, m *Member) *clientv3.Client {
	t.Helper()
	c := must.Get(clientv3.New(clientv3.Config{Endpoints: m.Endpoints(), DialTimeout: 10 * time.Second, Logger: zap.NewNop()}))(t)
	t.Cleanup(func() { c.Close() })
	return c
}

// E3: an existing directory, open to all users, gets mode 0700.
func TestMember_isReachedByItsOwnerOnly(t *testing.T) {
	path := t.TempDir()
	must.Succeed(t, os.Mkdir(filepath.Join(path, "etcd"), 0o777))
	m := startMember(t, openDirectory(t, path))
	socket, ok := strings.CutPrefix(m.Endpoints()[0], "unix://")
	if !ok {
		t.Fatalf("endpoint %s is no unix socket", m.Endpoints()[0])
	}
	info, err := os.Stat(filepath.Dir(socket))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("%s: mode %v, %v; want 0700", filepath.Dir(socket), info.Mode(), err)
	}
}

// A directory may be too deep for a socket, and a member has after a restart what it stored.
func TestMember_startsAgainInADirectoryTooDeepForASocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("d", 60), strings.Repeat("e", 60))
	dir := openDirectory(t, path)
	m := startMember(t, dir)
	must.Get(connectMember(t, m).Put(t.Context(), "k", "v"))(t)
	m.Stop()
	if err := m.Err(); err != nil {
		t.Errorf("a graceful stop counts as a failure: %v", err)
	}
	if _, err := os.Stat(m.ephemeral); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left behind: %v", m.ephemeral, err)
	}
	dir.Close()

	again := startMember(t, openDirectory(t, path))
	answer, err := connectMember(t, again).Get(t.Context(), "k")
	if err != nil || len(answer.Kvs) != 1 || string(answer.Kvs[0].Value) != "v" {
		t.Errorf("after the restart: %v, %v", answer, err)
	}
}

// E1.
func TestOpenDir_refusesADirectoryInUseAndNamesTheProcess(t *testing.T) {
	path := t.TempDir()
	first := openDirectory(t, path)
	_, err := OpenDir(path, 1)
	var inUse *InUseError
	if !errors.As(err, &inUse) || inUse.PID != os.Getpid() || inUse.Dir != path {
		t.Fatalf("second open: %v", err)
	}
	for _, want := range []string{path, fmt.Sprint(os.Getpid()), "stop that one first"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	first.Close()
	openDirectory(t, path)
}

// E2.
func TestOpenDir_refusesANewerFormat(t *testing.T) {
	path := t.TempDir()
	openDirectory(t, path).Close()
	written, err := os.ReadFile(filepath.Join(path, formatFile))
	if err != nil || string(written) != fmt.Sprintf("%d\n", Format) {
		t.Fatalf("format file: %q, %v", written, err)
	}
	must.Succeed(t, os.WriteFile(filepath.Join(path, formatFile), fmt.Appendf(nil, "%d\n", Format+1), 0o600))
	_, err = OpenDir(path, 1)
	want := fmt.Sprintf("data-dir %s has format %d, this kubizone knows formats up to %d", path, Format+1, Format)
	if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "run the newer kubizone that wrote it") {
		t.Fatalf("open: %v", err)
	}
	must.Succeed(t, os.WriteFile(filepath.Join(path, formatFile), []byte("poem"), 0o600))
	if _, err := OpenDir(path, 1); err == nil || !strings.Contains(err.Error(), "poem") {
		t.Fatalf("open of a foreign directory: %v", err)
	}
}

func TestOpenDir_refusesAFullDiskBeforeEtcdMeetsIt(t *testing.T) {
	path := t.TempDir()
	_, err := OpenDir(path, math.MaxUint64)
	if err == nil || !strings.Contains(err.Error(), "data-dir "+path+": the disk is full: ") {
		t.Fatalf("open: %v", err)
	}
	openDirectory(t, path) // the refusal released the lock
}

func TestOpenDir_saysWhatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Succeed(t, os.WriteFile(file, nil, 0o600))
	path := filepath.Join(file, "data")
	if _, err := OpenDir(path, 1); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "cannot be written") {
		t.Fatalf("open: %v", err)
	}
	if _, err := OpenDir("", 1); err == nil {
		t.Fatal("an empty path was opened")
	}
}

// A new etcd cannot store the version before the first entry, and logs this as an error every four seconds. On a slow
// machine this is normal, so the line is left out of the log.
func TestMember_isSilentBeforeItsFirstEntry(t *testing.T) {
	early := func(l *zap.Logger) {
		l.Error("failed to update storage version", zap.String("cluster-version", "3.7.0"), zap.Error(errors.New("cannot detect storage schema version: missing term information")))
	}
	for verbose, want := range map[bool]int{false: 1, true: 2} {
		var got []string
		logger := (&Member{failure: newFailure("/data")}).newLogger(Config{Verbose: verbose, Log: func(line string) { got = append(got, line) }})
		early(logger)
		logger.Error("failed to update storage version", zap.Error(errors.New("read-only")))
		if len(got) != want {
			t.Errorf("verbose %t: %d lines: %q", verbose, len(got), got)
		}
	}
}

// E4: Fatal and Panic end only their goroutine.
func TestFailure_becomesAnErrorThatSaysWhatToDo(t *testing.T) {
	for name, report := range map[string]func(*zap.Logger, ...zap.Field){
		"fatal": func(l *zap.Logger, f ...zap.Field) { l.Fatal("failed to save Raft hard state and entries", f...) },
		"panic": func(l *zap.Logger, f ...zap.Field) { l.Panic("failed to create WAL", f...) },
	} {
		t.Run(name, func(t *testing.T) {
			m := &Member{dir: "/data", failure: newFailure("/data")}
			returned := make(chan bool, 1)
			go func() {
				defer func() { returned <- false }()
				report(m.newLogger(Config{}), zap.Error(fmt.Errorf("write /data/etcd/wal: %w", syscall.ENOSPC)))
				returned <- true
			}()
			if <-returned {
				t.Fatal("the logger returned to a caller that cannot go on")
			}
			<-m.Failed()
			err := m.Err()
			if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "data-dir /data: the disk is full") {
				t.Fatalf("failure: %v", err)
			}
		})
	}
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// etcd keeps recent entries of its log in memory, and an entry may have the size of the largest Zone, 96 KiB. Their
// number is limited, so memory stays bounded, both while writing and after a restart.
func TestMember_keepsLittleOfItsLogInMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: memory is not measured under the race detector, which has its own")
	}
	const each, writes, bound = 96 << 10, snapshotEvery * 3 / 2, 64 << 20
	dir := openDirectory(t, filepath.Join(t.TempDir(), "data"))
	m := startMember(t, dir)
	c := connectMember(t, m)
	before := heapInUse()
	zone := strings.Repeat("z", each)
	for n := range writes {
		must.Get(c.Put(t.Context(), "zone", fmt.Sprint(n)+zone))(t)
	}
	running := heapInUse() - before
	c.Close()
	m.Stop()
	stopped := heapInUse()
	startMember(t, dir)
	again := heapInUse() - stopped
	t.Logf("after %d writes of %d KiB the heap has %d MiB more; after a restart %d MiB more than without a member", writes, each>>10, running>>20, again>>20)
	if running > bound {
		t.Errorf("the heap has %d MiB more after %d MiB of writes, want %d at most", running>>20, writes*each>>20, bound>>20)
	}
	if again > bound {
		t.Errorf("after a restart the heap has %d MiB more, want %d at most", again>>20, bound>>20)
	}
}
