// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// reckoning suites assume that the next version is the next revision, or that an empty etcd is at 1.
var reckoning = []string{"List", "ConsistentList", "CompactRevision", "WatchSemantics"}

func reckons() bool { return os.Getenv("KUBIZONE_TEST_RECKONS") != "" }

// examineVersions runs the suites over package subrev: under the race detector for a single mode.
func examineVersions(t *testing.T, compacts bool) {
	t.Helper()
	modes := []mode{last, lone}
	switch {
	case rig.Long():
		modes = append(modes, hooked)
	case testing.Short():
		modes = modes[:1]
	}
	for _, m := range modes {
		for _, cached := range []bool{false, true} {
			if m == last || rig.Long() || !cached && !compacts {
				name := fmt.Sprintf("%s/cached=%v", m, cached)
				t.Run(name, func(t *testing.T) { examineStore(t, m, cached, compacts) })
			}
		}
	}
}

// Suites without compaction set feature gates of the process, and are not parallel.
func TestSuites_overVersions(t *testing.T) { examineVersions(t, false) }

// The watch cache asks for the compacted revision every 15 seconds, in which other tests run.
func TestSuites_overCompactedVersions(t *testing.T) {
	t.Parallel()
	examineVersions(t, true)
}

// Some of Kubernetes' storage suites compute the next resourceVersion by adding 1, and expect an empty etcd at 1. Here
// a revision has 128 versions, and an empty etcd is at 255. The suites therefore run in a copy in which these numbers
// are replaced.
func TestSuites_overVersionsWithTheNextRevision(t *testing.T) {
	if !rig.Long() {
		t.Skip("builds upstream's suites anew: KUBIZONE_TEST_LONG=1")
	}
	vendored := must.Get(filepath.Abs("../../vendor/k8s.io/apiserver/pkg/storage/testing"))(t)
	overlay := map[string]string{}
	for name, changes := range map[string]map[string]string{
		"store_tests.go": {
			`\bcontinueRV ?\+ ?1\b`: "continueRV+128", `\bcontinueRV \+ 2\b`: "continueRV+256", `\blastResourceWriteRV \+ 1\b`: "lastResourceWriteRV+128",
			`\bconsistentRV\+\+`: "consistentRV+=128", `\bcurrentRV \+ 1\b`: "currentRV+128",
		},
		"watcher_tests.go": {`(resourceVersion: +)"1"`: `${1}"255"`},
	} {
		text := must.Get(os.ReadFile(filepath.Join(vendored, name)))(t)
		for from, to := range changes {
			pattern := regexp.MustCompile(from)
			if !pattern.Match(text) {
				t.Errorf("%s has no %s any more: see how upstream says the next revision now", name, from)
			}
			text = pattern.ReplaceAll(text, []byte(to))
		}
		copied := filepath.Join(t.TempDir(), name)
		must.Succeed(t, os.WriteFile(copied, text, 0o600))
		overlay[filepath.Join(vendored, name)] = copied
	}
	text := must.Get(json.Marshal(map[string]any{"Replace": overlay}))(t)
	file := filepath.Join(t.TempDir(), "overlay.json")
	must.Succeed(t, os.WriteFile(file, text, 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", file, "-vet=off", "-count=1", "-v", "-run", "^TestSuites_over(Compacted)?Versions$", ".")
	cmd.Env = append(os.Environ(), "KUBIZONE_TEST_RECKONS=1")
	out, err := cmd.CombinedOutput()
	ran := len(regexp.MustCompile(`(?m)^ +--- PASS: \S+/(List|ConsistentList|CompactRevision|WatchSemantics) `).FindAll(out, -1))
	if err != nil || ran != 3*2*len(reckoning) {
		t.Errorf("%d suites passed, not %d: %v\n%s", ran, 3*2*len(reckoning), err, regexp.MustCompile(`(?m)^ *(--- FAIL|\w+\.go:\d+:|panic).*$`).FindAll(out, 100))
	}
}
