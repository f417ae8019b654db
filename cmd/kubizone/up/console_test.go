// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

func TestConsole_endsWithTheOtherParts(t *testing.T) {
	dir := t.TempDir()
	client, ended := filepath.Join(dir, "kubectl-kubizone"), filepath.Join(dir, "ended")
	must.Succeed(t, os.WriteFile(client, []byte("#!/bin/sh\necho console for \"$@\"\ncat >/dev/null\necho >"+ended+"\n"), 0o700))
	var out must.Output
	c := &Config{DataDir: dir, Out: &out}
	all := newParts()
	c.startConsole(t.Context(), all, client, "config")
	must.Eventually(t, "the console prints", func() bool { return strings.Contains(out.String(), "console for") })
	must.Say(t, out.String(), "--no-browser", "--with-parent", "--kubeconfig config")
	must.Succeed(t, all.stop())
	if _, err := os.Stat(ended); err != nil || strings.Contains(out.String(), "warning") {
		t.Errorf("the console was killed: %v\n%s", err, out.String())
	}
}

func TestConsole_failsAlone(t *testing.T) {
	var out must.Output
	c := &Config{DataDir: t.TempDir(), Out: &out}
	all := newParts()
	c.startConsole(t.Context(), all, "/nowhere/kubectl-kubizone", "config")
	must.Eventually(t, "a warning", func() bool { return strings.Contains(out.String(), "warning: no console") })
	if err := all.runDuring(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Errorf("another part: %v", err)
	}
	must.Succeed(t, all.stop())
	c.startConsole(t.Context(), all, "", "config")
	if len(all.running) != 0 {
		t.Error("a console runs without a client")
	}
}

// A client that a group or all users may replace is not started.
func TestClientBeside_isReplacedByNoOtherUser(t *testing.T) {
	dir := t.TempDir()
	client := filepath.Join(dir, "kubectl-kubizone")
	for _, test := range []struct {
		dir, file os.FileMode
		want      string // the path that the error names
	}{
		{0o700, 0o700, ""}, {0o755, 0o755, ""},
		{0o755, 0o775, client}, {0o755, 0o757, client}, {0o775, 0o755, dir}, {0o757, 0o755, dir}, {0o1777, 0o755, dir},
	} {
		must.Succeed(t, os.Chmod(dir, 0o700))
		must.Succeed(t, os.WriteFile(client, nil, 0o700))
		must.Succeed(t, os.Chmod(client, test.file))
		must.Succeed(t, os.Chmod(dir, test.dir))
		got, err := clientBeside(filepath.Join(dir, "kubizone"))
		if test.want == "" && (got != client || err != nil) {
			t.Errorf("%o in %o: %q, %v", test.file, test.dir, got, err)
		}
		if test.want != "" && (got != "" || err == nil || !strings.Contains(err.Error(), "write "+test.want+" ")) {
			t.Errorf("%o in %o: %q, %v, want an error for %s", test.file, test.dir, got, err, test.want)
		}
	}
	must.Succeed(t, os.Remove(client))
	if got, err := clientBeside(filepath.Join(dir, "kubizone")); got != "" || err != nil {
		t.Errorf("absent: %q, %v", got, err)
	}
}
