// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// passing replaces output that differs between runs: ages, times, progress, dig's own lines, serials (with the day) and
// truncated hashes.
var passing = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\b20\d{8}\b`), "SERIAL"},
	{regexp.MustCompile(`\b(\d+[hms])+ *(\n|$)`), "AGE\n"},
	{regexp.MustCompile(`\b(\d+[hms])+ `), "AGE "},
	{regexp.MustCompile(`\bin \d+\.\d s\b`), "in TIME"},
	{regexp.MustCompile(`(?m)^loading .*\n`), ""}, // progress, absent on a fast machine
	{regexp.MustCompile(`DiG \S+|Query time: \d+|WHEN: .*`), "DIG"},
	{regexp.MustCompile(` +`), " "},
}

func normalizeText(text string) string {
	for _, p := range passing {
		text = p.pattern.ReplaceAllString(text, p.with)
	}
	return strings.TrimSpace(text)
}

// abridgeOutput drops the lines that "..." of the page replaces.
func abridgeOutput(output, like []string) (kept []string) {
	for i, line := range like {
		if line == "..." {
			kept = append(kept, line)
			for len(output) > 0 && (i+1 == len(like) || output[0] != like[i+1]) {
				output = output[1:]
			}
		} else if len(output) > 0 {
			kept, output = append(kept, output[0]), output[1:]
		}
	}
	return append(kept, output...)
}

// entries is the number of records, sets that of RRsets without the apex SOA and NS.
type root struct {
	path          string
	entries, sets int
}

// wholeRoot is the root zone of 2018-03-12 in docs/tour.md.
var wholeRoot = root{"test/testdata/root-2018031200.zone", 18052, 10853}

// chooseRoot returns the root zone with an absolute path; the short form has only some top-level domains.
func chooseRoot(t *testing.T) root {
	if rig.Long() {
		return root{must.Get(filepath.Abs(filepath.Join("../..", wholeRoot.path)))(t), wholeRoot.entries, wholeRoot.sets}
	}
	return must.Get(someRoot(t.TempDir()))(t)
}

// asks matches read-only commands: conditions and name servers follow a write within moments.
var asks = regexp.MustCompile(`^(kubectl get|kubectl kubizone (why|who|changes)|dig) `)

// The commands of docs/recipes.md and docs/coming-from.md run on a server with the examples, and their output is that
// on the page. A code block with a file name after its language is written to that file first.
func TestPages_commandsAreTrue(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	examples := must.Get(filepath.Abs("../../artifacts/examples"))(t)
	u := runUp(t, t.TempDir(), "--load", examples)
	dir := t.TempDir()
	must.Succeed(t, os.Symlink(binaries.kubectl, filepath.Join(dir, "kubectl")))
	must.Succeed(t, os.Symlink(binaries.client, filepath.Join(dir, "kubectl-kubizone")))
	_, port, _ := strings.Cut(u.dns, ":")
	for _, page := range []string{"../../docs/recipes.md", "../../docs/coming-from.md"} {
		text := must.Get(os.ReadFile(page))(t)
		for _, file := range regexp.MustCompile("(?s)```\\w+ (\\S+)\n(.*?)```").FindAllSubmatch(text, -1) {
			must.Succeed(t, os.WriteFile(filepath.Join(dir, string(file[1])), file[2], 0o600))
		}
		steps := must.Get(rig.ReadConsole(page, ""))(t)
		if len(steps) < 3 {
			t.Errorf("%s has %d commands", page, len(steps))
		}
		for _, s := range steps {
			want := strings.Split(normalizeText(s.Output), "\n")
			for start := time.Now(); ; rig.Pause(start) {
				line := strings.ReplaceAll(s.Line, "-p 5300", "-p "+port)
				command := exec.CommandContext(rig.Within(t, 3*time.Minute), "bash", "-c", line)
				command.Dir = dir
				command.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH")+":/usr/sbin", "HOME="+dir, "TZ=UTC",
					"KUBECONFIG="+filepath.Join(u.dir, "kubeconfig"))
				output, err := command.CombinedOutput()
				d := cmp.Diff(want, abridgeOutput(strings.Split(normalizeText(string(output)), "\n"), want))
				if err == nil && d == "" {
					break
				}
				if !asks.MatchString(s.Line) || time.Since(start) > time.Minute {
					t.Errorf("%s: $ %s%v (- the page, + real)\n%s\n%s", page, s.Line, err, d, output)
					break
				}
			}
		}
	}
}

// someRoot writes some top-level domains of the root zone, those of docs/tour.md included.
func someRoot(dir string) (root, error) {
	text, err := os.ReadFile(filepath.Join("../..", wholeRoot.path))
	if err != nil {
		return root{}, err
	}
	var some strings.Builder
	r := root{path: filepath.Join(dir, filepath.Base(wholeRoot.path))}
	sets := map[string]bool{}
	all, named := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), map[string]bool{}
	chosen := func(fields []string) bool { // owner TTL IN type data
		labels := strings.Split(strings.TrimSuffix(fields[0], "."), ".")
		top := labels[len(labels)-1]
		return top == "" || top == "net" || top == "ph" || strings.HasPrefix(top, "a")
	}
	for _, line := range all {
		if fields := strings.Fields(line); chosen(fields) && fields[3] == "NS" {
			named[fields[4]] = true
		}
	}
	for _, line := range all {
		fields := strings.Fields(line)
		if address := strings.HasPrefix(fields[3], "A"); address && named[fields[0]] || !address && chosen(fields) {
			fmt.Fprintln(&some, strings.Join(fields, " "))
			r.entries++
			sets[fields[0]+" "+fields[3]] = fields[0] != "." || fields[3] != "SOA" && fields[3] != "NS"
		}
	}
	for _, counts := range sets {
		if counts {
			r.sets++
		}
	}
	return r, os.WriteFile(r.path, []byte(some.String()), 0o600)
}

func (r root) describeLoad() string { return fmt.Sprintf("%d RRsets; %d written", r.sets+1, r.sets+2) }

// fitsScreen requires that a first user sees the whole output at once, not counting etcd's log lines on a slow
// machine.
func fitsScreen(t *testing.T, message string) {
	t.Helper()
	var long []string
	lines := 0
	for line := range strings.Lines(message) {
		if logged.MatchString(line) {
			continue
		}
		if lines++; len(strings.TrimSuffix(line, "\n")) > 120 {
			long = append(long, line)
		}
	}
	if lines > 40 || len(long) > 0 {
		t.Errorf("make run prints %d lines, want 40 at most, and these are wider than 120 columns:\n%s", lines, strings.Join(long, ""))
	}
}

var logged = regexp.MustCompile(`^[IWEF]\d{4} `)

// The commands of docs/tour.md come before those of README.md. UPDATE_STORIES=1 shows the whole output.
func TestReadme_tourIsTrue(t *testing.T) {
	needPrograms(t)
	steps := must.Get(rig.ReadConsole("../../docs/tour.md", ""))(t)
	first := must.Get(rig.ReadConsole("../../README.md", ""))(t)
	if len(steps) < 5 || steps[0].Line != "make run\n" || len(first) < 3 || !strings.Contains(first[len(first)-1].Output, "Error from server") {
		t.Fatalf("%d commands found, want some, and make run first; %d in README.md, want three, the last of which is refused", len(steps), len(first))
	}
	steps = append(steps, first...)
	shown := must.Get(os.ReadFile("../../README.md"))(t)
	manifest, err := os.ReadFile("../../artifacts/tour/first.yaml")
	if err != nil || !strings.Contains(string(shown), "```yaml\n"+string(manifest)+"```") {
		t.Errorf("README.md does not show artifacts/tour/first.yaml: %v", err)
	}
	dir := t.TempDir()
	must.Succeed(t, os.Symlink(binaries.kubectl, filepath.Join(dir, "kubectl")))
	must.Succeed(t, os.Symlink(binaries.client, filepath.Join(dir, "kubectl-kubizone")))
	api := must.Get(rig.FreePort())(t)
	dns := must.Get(rig.FreePort())(t)
	data, port := filepath.Join(dir, "data"), strconv.Itoa(int(dns.Port()))
	chosen := chooseRoot(t)
	here := strings.NewReplacer("bin/kubizone", binaries.kubizone, ".kubizone", data, "-p 5300", "-p "+port,
		wholeRoot.path, chosen.path)
	there := strings.NewReplacer(data, ".kubizone", api.String(), "127.0.0.1:7443", dns.String(), "127.0.0.1:5300",
		"-p "+port, "-p 5300", "#"+port, "#5300", chosen.describeLoad(), wholeRoot.describeLoad(),
		fmt.Sprintf("%d entries", chosen.entries), fmt.Sprintf("%d entries", wholeRoot.entries),
		fmt.Sprintf("  %d  ", chosen.entries), fmt.Sprintf("  %d  ", wholeRoot.entries))
	compare := func(s rig.Command, output string) {
		t.Helper()
		output = there.Replace(output)
		want := strings.Split(normalizeText(s.Output), "\n")
		if d := cmp.Diff(want, abridgeOutput(strings.Split(normalizeText(output), "\n"), want)); d != "" {
			t.Errorf("$ %s(- the page, + real)\n%s", s.Line, d)
			if os.Getenv("UPDATE_STORIES") != "" {
				t.Logf("$ %s%s", s.Line, output)
			}
		}
	}
	env := append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH")+":/usr/sbin", "HOME="+dir, "TZ=UTC")
	recipe := must.Get(exec.Command("make", "-C", "../..", "--no-print-directory", "-n", "run").Output())(t)
	_, flags, found := strings.Cut(string(recipe), "bin/kubizone up")
	if !found {
		t.Fatalf("make run does not start kubizone up:\n%s", recipe)
	}
	server := must.Get(startProcess("../..", env, "bash", "-c", "exec "+binaries.kubizone+" up --listen "+api.String()+" --dns-listen "+
		dns.String()+here.Replace(flags)))(t)
	t.Cleanup(server.Kill)
	if err := server.waitLine(ready); err != nil {
		t.Fatalf("%v\n%s", err, server.Log())
	}
	compare(steps[0], server.Log())
	if line := "open " + filepath.Join(data, "console.html") + " in a browser\n"; strings.Count(server.Log(), line) != 1 {
		t.Errorf("not once in the output of make run: %s", line)
	}
	// Constant warnings are noise for a first user. The tenants' shared name is intended.
	warned := regexp.MustCompile(`(?m)^warning: .*$`).FindAllString(server.Log(), -1)
	if len(warned) != 1 || !strings.Contains(warned[0], "A at status.example.org. joins values of other records (shared: true)") {
		t.Errorf("make run warns of\n%s", strings.Join(warned, "\n"))
	}
	fitsScreen(t, string(recipe)+there.Replace(server.Log()))
	for _, try := range regexp.MustCompile(`(?m)^try: (.*\n)`).FindAllStringSubmatch(steps[0].Output, -1) {
		if !slices.ContainsFunc(steps, func(s rig.Command) bool { return s.Line == try[1] }) {
			t.Errorf("docs/tour.md does not show what it says to try: %s", try[1])
		}
	}
	for _, s := range steps[1:] {
		cmd := exec.Command("bash", "-c", here.Replace(s.Line))
		cmd.Dir, cmd.Env = "../..", append(env, "KUBECONFIG="+filepath.Join(data, "kubeconfig"))
		out, _ := cmd.CombinedOutput() // a refusal is part of the tour: the output decides
		compare(s, string(out))
	}
}
