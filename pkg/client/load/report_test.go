// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/test/must"
)

// A fault in thousands of lines is shown a few times, then counted (L2).
func TestLoad_groupsWhatIsRefused(t *testing.T) {
	var text strings.Builder
	text.WriteString(file)
	for i := range 2000 {
		fmt.Fprintf(&text, "h%d A 192.0.2.%d\n", i, 300+i)
		fmt.Fprintf(&text, "h%d.example.net. A 192.0.2.1\n", i)
	}
	text.WriteString("\x1b]0;title\x07 A 192.0.2.1\nx TXT \"\x1b[31m\xff\" (\n")
	path := must.WriteFile(t, filepath.Join(t.TempDir(), "example.org.zone"), text.String())
	l := newLab(t, fake.NewSimpleClientset())
	if got := l.loadPath(t, path); got != (Result{Written: 5, Refused: 4002}) {
		t.Errorf("load: %+v", got)
	}
	if len(l.messages) > maxShown+5 {
		t.Errorf("%d lines for 4002 refusals", len(l.messages))
	}
	if want := fmt.Sprintf("refused: %s: %d more; mend those above and try again", path, 4002-maxShown); !l.hasReceived(want) {
		t.Errorf("no line says %q", want)
	}
}

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
