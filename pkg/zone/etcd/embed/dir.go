// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Format is the version of the directory's layout, raised only if older binaries cannot use the new layout.
const Format = 1

// DefaultMinFreeBytes is the free space that a start needs: etcd preallocates two log segments of 64 MiB.
const DefaultMinFreeBytes = 144 << 20

const (
	lockFile   = "lock"
	formatFile = "format"
	etcdDir    = "etcd"
)

// Dir is a data directory that this process has locked.
type Dir struct {
	path string
	lock *os.File
}

// OpenDir creates a missing data directory, locks the directory and checks the format. OpenDir fails if the file system
// has fewer than minFree octets free; 0 means DefaultMinFreeBytes.
//
// If another process has locked the directory, the error is an *InUseError. Other errors name the directory and the
// remedy.
func OpenDir(path string, minFree uint64) (*Dir, error) {
	if path == "" {
		return nil, errors.New("data-dir: must not be empty, name a directory that this user may write")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data-dir %q: %w", path, err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, unwritable(path, err)
	}
	lock, err := acquireLock(path)
	if err != nil {
		return nil, err
	}
	d := &Dir{path: path, lock: lock}
	if err := d.checkDir(minFree); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

func (d *Dir) Path() string { return d.path }

// Close releases the lock. The lock file stays, because two processes could otherwise lock two files of the same name.
func (d *Dir) Close() error { return d.lock.Close() }

// acquireLock locks the directory for this process, and returns the open lock file. If another process has the lock,
// the error is an *InUseError. The lock ends with the process, also after a crash.
func acquireLock(path string) (*os.File, error) {
	name := filepath.Join(path, lockFile)
	lock, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, unwritable(path, err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer lock.Close()
		// For example NFS without a lock service.
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("data-dir %s cannot be locked: %w; use a local file system", path, err)
		}
		holder, _ := io.ReadAll(io.LimitReader(lock, 32))
		pid, _ := strconv.Atoi(strings.TrimSpace(string(holder)))
		return nil, &InUseError{Dir: path, PID: pid}
	}
	// The kernel holds the lock. The process ID in the file is only for the InUseError of another process.
	err = lock.Truncate(0)
	if err == nil {
		_, err = lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		lock.Close()
		return nil, unwritable(path, err)
	}
	return lock, nil
}

// checkDir checks the directory's format and free space. The caller has the lock.
func (d *Dir) checkDir(minFree uint64) error {
	if err := d.checkFormat(); err != nil {
		return err
	}
	// etcd preallocates its log, and cannot start on a full disk.
	minFree = cmp.Or(minFree, DefaultMinFreeBytes)
	var disk syscall.Statfs_t
	if err := syscall.Statfs(d.path, &disk); err != nil {
		return fmt.Errorf("data-dir %s: %w", d.path, err)
	}
	if free := disk.Bavail * uint64(disk.Bsize); free < minFree {
		return fmt.Errorf("data-dir %s: the disk is full: %d MiB are free, %d MiB are needed; free some space and start again", d.path,
			free>>20, minFree>>20)
	}
	return nil
}

// checkFormat writes the format into a new directory, and refuses a newer format or a foreign file.
func (d *Dir) checkFormat() error {
	name := filepath.Join(d.path, formatFile)
	text, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d.writeLine(name, strconv.Itoa(Format))
	case err != nil:
		return unwritable(d.path, err)
	}
	found, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("data-dir %s: %s holds %q in the place of its format number; is this a directory of kubizone? name another "+
			"one, or an empty one", d.path, name, strings.TrimSpace(string(text)))
	}
	if found > Format {
		return fmt.Errorf("data-dir %s has format %d, this kubizone knows formats up to %d; run the newer kubizone that wrote it, "+
			"or name another directory", d.path, found, Format)
	}
	return nil
}

// writeLine writes a temporary file, syncs it and renames it, so that a power failure leaves no empty file.
func (d *Dir) writeLine(name, line string) error {
	temporary := name + ".new"
	f, err := os.OpenFile(temporary, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return unwritable(d.path, err)
	}
	_, err = f.WriteString(line + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(temporary, name)
	}
	if err != nil {
		return unwritable(d.path, err)
	}
	return nil
}

func unwritable(path string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("data-dir %s: the disk is full (%w); free some space and start again: acknowledged writes are kept", path, err)
	}
	return fmt.Errorf("data-dir %s cannot be written: %w; make it writable for this user, or name another directory", path, err)
}

// InUseError is returned for a data directory that another process has opened. PID is 0 if unknown.
type InUseError struct {
	Dir string
	PID int
}

func (e *InUseError) Error() string {
	holder := "another process"
	if e.PID > 0 {
		holder = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("data-dir %s is in use by %s; stop that one first, or name another directory", e.Dir, holder)
}
