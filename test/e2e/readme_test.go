// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kubi.zone/kubizone/test/rig"
)

// step is one command of the tour and what README.md says it prints.
type step struct{ command, output string }

// tour reads the console blocks below the heading "Five minutes": "$ " begins a command, "> " continues it,
// the rest is output.
func tour(t *testing.T) []step {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## Five minutes\n")
	if !found {
		t.Fatal("README.md has no section Five minutes")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var steps []step
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(section, -1) {
		for _, line := range strings.SplitAfter(block[1], "\n") {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				steps = append(steps, step{command: command})
			} else if len(steps) == 0 {
				t.Fatalf("README.md: output before any command: %q", line)
			} else if more, ok := strings.CutPrefix(line, "> "); ok {
				steps[len(steps)-1].command += more
			} else {
				steps[len(steps)-1].output += line
			}
		}
	}
	return steps
}

// passing replaces what differs from run to run: ages, serials (which hold the day) and hashes (which do not,
// but a table cuts them by column width).
var passing = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\b20\d{8}\b`), "SERIAL"},
	{regexp.MustCompile(`\b(\d+[hms])+ *(\n|$)`), "AGE\n"},
	{regexp.MustCompile(`\b(\d+[hms])+ `), "AGE "},
	{regexp.MustCompile(` +`), " "},
}

func settle(text string) string {
	for _, p := range passing {
		text = p.pattern.ReplaceAllString(text, p.with)
	}
	return strings.TrimSpace(text)
}

// TestReadme_tourIsTrue runs the commands of the README against what `make run` starts and compares what
// they print. UPDATE_STORIES=1 shows the real output whole, to be pasted.
func TestReadme_tourIsTrue(t *testing.T) {
	needPrograms(t)
	steps := tour(t)
	if len(steps) < 5 {
		t.Fatalf("only %d commands found", len(steps))
	}
	dir := t.TempDir()
	if err := os.Symlink(binaries.kubectl, filepath.Join(dir, "kubectl")); err != nil {
		t.Fatal(err)
	}
	api, err := rig.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	dns, err := rig.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	env := append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH")+":/usr/sbin", "HOME="+dir, "TZ=UTC")
	server, err := start("../..", env, binaries.kubizone, "up", "--data-dir", data, "--listen", api.String(), "--dns-listen", dns.String(),
		"--dns-view", "", "--dns-view", "root", "--load", "artifacts/examples", "--load", "root=test/testdata/root-2018031200.zone")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.kill)
	if err := server.waitLine(ready); err != nil {
		t.Fatalf("%v\n%s", err, server.output())
	}
	_, port, _ := net.SplitHostPort(dns.String())
	for _, s := range steps {
		command := strings.NewReplacer(".kubizone/kubeconfig", filepath.Join(data, "kubeconfig"), "-p 5300", "-p "+port).Replace(s.command)
		cmd := exec.Command("bash", "-c", command)
		cmd.Dir, cmd.Env = "../..", append(env, "KUBECONFIG="+filepath.Join(data, "kubeconfig"))
		out, _ := cmd.CombinedOutput() // a refusal is part of the tour: what it prints decides
		if d := cmp.Diff(settle(s.output), settle(string(out))); d != "" {
			t.Errorf("$ %s(- README, + real)\n%s", s.command, d)
			if os.Getenv("UPDATE_STORIES") != "" {
				t.Logf("$ %s%s", s.command, out)
			}
		}
	}
}
