// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

func TestPages_nameTheVersionsOfTheTests(t *testing.T) {
	const kubernetes = `k8s\.io/kubernetes v(\S+)`
	oldest := versionIn(t, "../../hack/tools/kube-oldest/go.mod", kubernetes)
	both := oldest + " and " + versionIn(t, "../../hack/tools/kube/go.mod", kubernetes)
	etcd := versionIn(t, "../../go.mod", `go\.etcd\.io/etcd/server/v3 v(\d+\.\d+)\.`)
	for _, named := range []struct{ page, text string }{
		{"docs/support.md", "| Kubernetes | " + both + " |"},
		{"docs/support.md", "| etcd of yours (`external-etcd`) | " + etcd + " |"},
		{"docs/install.md", "tested with Kubernetes " + both},
		{"README.md", "tested with Kubernetes " + both},
		{"charts/kubizone/Chart.yaml", `kubeVersion: ">=` + oldest[:strings.LastIndex(oldest, ".")] + `.0-0"`},
		{"charts/kubizone/README.md", "Kubernetes " + both},
		{"README.md", "version " + tag[1:] + ","},
	} {
		if !strings.Contains(string(readFile(t, "../..", named.page)), named.text) {
			t.Errorf("%s is without %q", named.page, named.text)
		}
	}
}

// The Go code in docs/clients.md is a part of api/examples/publish/main.go, which a story executes.
func TestPages_showTheExample(t *testing.T) {
	shown := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(readFile(t, "../../docs/clients.md"), -1)
	example := strings.ReplaceAll(string(readFile(t, "../../api/examples/publish/main.go")), "\n\t", "\n")
	for _, block := range shown {
		if !strings.Contains(example, string(block[1])) {
			t.Errorf("api/examples/publish/main.go is without:\n%s", block[1])
		}
	}
	if len(shown) == 0 {
		t.Error("docs/clients.md shows no Go")
	}
}

// R7: the README's commands for an installation from a clone build, push and name the images in dist; test/deploy
// runs the installation.
func judgeReadme(t *testing.T, dist string) {
	crane := rig.Need(rig.Tool("crane"))(t)
	address := startRegistry(t, crane)
	_, section, _ := strings.Cut(string(readFile(t, "../../README.md")), "\n## Install\n")
	_, section, _ = strings.Cut(section, "```sh\n")
	section, _, _ = strings.Cut(section, "```")
	commands := strings.Split(strings.TrimSpace(section), "\n")
	if len(commands) != 3 {
		t.Fatalf("README.md installs by %d commands, want three:\n%s", len(commands), section)
	}
	run := func(command string) string {
		t.Helper()
		shell := exec.CommandContext(t.Context(), "bash", "-c", command)
		shell.Dir = "../.."
		out, err := shell.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return string(out)
	}
	if recipe := run(strings.Replace(commands[0], "make ", "make --dry-run ", 1)); !strings.Contains(recipe, "hack/build-release.sh dist\n") {
		t.Errorf("%s does not build a release:\n%s", commands[0], recipe)
	}
	run(strings.NewReplacer("dist/image", filepath.Join(dist, "image"), "YOUR-REGISTRY", address).Replace(commands[1]))
	digest := must.Get(exec.CommandContext(t.Context(), crane, "digest", address+"/kubizone:"+tag).Output())(t)
	if image := strings.TrimSpace(string(readFile(t, dist, "image.txt"))); !strings.HasSuffix(image, "@"+strings.TrimSpace(string(digest))) {
		t.Errorf("%s pushed %s, and the chart names %s", commands[1], digest, image)
	}
	chart := strings.Fields(commands[2])[3]
	if _, err := os.Stat(filepath.Join(dist, strings.TrimPrefix(chart, "dist/"))); err != nil {
		t.Errorf("%s: %v", commands[2], err)
	}
}

func versionIn(t *testing.T, file, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindSubmatch(readFile(t, file))
	if found == nil {
		t.Fatalf("%s names no version", file)
	}
	return string(found[1])
}
