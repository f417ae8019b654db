// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/test/must"
)

// A source may be a FIFO. While no process writes to it, the loader reports its wait, and the wait ends with the
// context.
func TestLoad_endsAtAFIFOThatNobodyWritesTo(t *testing.T) {
	for _, file := range []string{"example.org.zone", "all.yaml"} {
		path := filepath.Join(t.TempDir(), file)
		must.Succeed(t, syscall.Mkfifo(path, 0o600))
		l := newLab(t, fake.NewSimpleClientset())
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("stop")
		report := l.cfg.Report
		l.cfg.Interval, l.cfg.Report = time.Millisecond, func(line string) {
			report(line)
			if strings.Contains(line, "waiting for the end of "+path) {
				cancel(stop)
			}
		}
		if _, err := l.Load(ctx, Source{Path: path}); !errors.Is(err, stop) {
			t.Errorf("%s: %v", file, err)
		}
		// Release the open without a writer.
		writer := must.Get(os.OpenFile(path, os.O_RDWR, 0))(t)
		writer.Close()
	}
}
