// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const maxConfig = 16 << 20

type loadedConfig struct {
	mu        sync.Mutex
	lastHash  string
	reloadErr error // by the last reconfig
}

func (l *loadedConfig) hash() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lastHash
}

// has reports whether named runs the files with this hash. After a failed reconfig the answer is no, even for the files
// before: named may have read the others, and only its answer was lost.
func (l *loadedConfig) has(hash string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lastHash == hash && l.reloadErr == nil
}

func (l *loadedConfig) check() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lastHash == "" || l.reloadErr != nil {
		return "error"
	}
	return "ok"
}

// WatchConfig runs rndc reconfig at the start, and at each tick if a configuration file has changed. A refused
// configuration is retried, because an included file may arrive later.
func (a *Agent) WatchConfig(ctx context.Context, ticks <-chan time.Time) {
	if a.config.ConfigDir == "" {
		return
	}
	atOnceAndTicks(ctx, ticks, func() {
		if err := a.reloadConfig(ctx); err != nil && ctx.Err() == nil {
			a.config.Logger.Warn("named did not read its configuration; this is retried", "err", err)
		}
	})
}

// atOnceAndTicks calls do at once and at each tick, until ctx ends.
func atOnceAndTicks(ctx context.Context, ticks <-chan time.Time, do func()) {
	for {
		do()
		select {
		case <-ticks:
		case <-ctx.Done():
			return
		}
	}
}

// reloadConfig lets named read its configuration if a file has changed, or if the last attempt failed. The hash of a
// refused configuration is not kept.
func (a *Agent) reloadConfig(ctx context.Context) error {
	// Hash before the reload, so that the next tick notices a change in between.
	now, err := hashFiles(a.config.ConfigDir)
	if err == nil && a.loaded.has(now) {
		return nil
	}

	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, requestTime)
		defer cancel()
		_, err = a.runCommand(ctx, "reconfig")
	}

	a.loaded.mu.Lock()
	defer a.loaded.mu.Unlock()
	// /health reports this hash, by which the fleet sees a new TSIG key arrive in a pod.
	if a.loaded.reloadErr = err; err == nil {
		a.loaded.lastHash = now
	}

	// The message is for clients. The log gets the cause.
	if p := (*problem)(nil); errors.As(err, &p) && p.cause != nil {
		return p.cause
	}
	return err
}

// Names with two dots in front belong to Kubernetes.
func hashFiles(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}

	sum := sha256.New()
	left := int64(maxConfig)
	for _, entry := range entries {
		// ..data and ..2026_11_30 are links and folders of a mounted ConfigMap or Secret.
		if strings.HasPrefix(entry.Name(), "..") {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		if info, err := os.Stat(path); err != nil {
			return "", err
		} else if !info.Mode().IsRegular() {
			continue
		}

		file, err := os.Open(path)
		if err != nil {
			return "", err
		}

		// The fleet computes the same hash from the rendered files (render.Hash).
		_, _ = io.WriteString(sum, entry.Name()+"\x00")
		n, err := io.Copy(sum, io.LimitReader(file, left+1))
		if err = errors.Join(err, file.Close()); err != nil {
			return "", err
		}
		_, _ = sum.Write([]byte{0})

		// The limit holds for all files together, so that a wrong mount cannot occupy the agent.
		if left -= n; left < 0 {
			return "", fmt.Errorf("%s: the files have more than %d octets", dir, maxConfig)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
