// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

const (
	product = "kubi.zone/kubizone"
	api     = product + "/api"
)

// serverOnly are modules that a client must not have in its module graph.
var serverOnly = regexp.MustCompile(`^(go\.etcd\.io/.*|k8s\.io/apiserver|k8s\.io/kms)$`)

// A client that imports the API module must not get the server's dependencies. go.sum of the API lists every module of
// its graph, and has none of the server's (R8). hack/verify-vendor.sh checks that go.sum is tidy, and TestRelease with
// -dist asks go itself.
func TestModules_theAPIsGraphHasNoServer(t *testing.T) {
	graph := strings.Split(strings.TrimSpace(string(readFile(t, "../../api/go.sum"))), "\n")
	if len(graph) < 50 {
		t.Fatalf("api/go.sum has %d lines, which is not the graph of a client", len(graph))
	}
	for _, line := range graph {
		if module, _, _ := strings.Cut(line, " "); serverOnly.MatchString(module) || module == product {
			t.Errorf("a client would get %s", line)
		}
	}
}

type goMod struct {
	Module  struct{ Path string }
	Go      string
	Require []struct{ Path, Version string }
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

func readMod(t *testing.T, arguments ...string) (m goMod) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", arguments...).Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(arguments, " "), err)
	}
	must.Succeed(t, json.Unmarshal(out, &m))
	return m
}

// Server and API are two Go modules with the same version tag. go.mod of the server requires this tag of the API, and
// has no replacement, which go install of a version would refuse (R8).
func TestModules_areTaggedTogether(t *testing.T) {
	server, client := readMod(t, "mod", "edit", "-json", "../../go.mod"), readMod(t, "mod", "edit", "-json", "../../api/go.mod")
	workspace := readMod(t, "work", "edit", "-json", "../../go.work")
	if server.Module.Path != product || client.Module.Path != api {
		t.Errorf("the modules are %s and %s", server.Module.Path, client.Module.Path)
	}
	for name, m := range map[string]goMod{"go.mod": server, "api/go.mod": client} {
		if len(m.Replace) > 0 {
			t.Errorf("%s has replacements, which go install refuses: %v", name, m.Replace)
		}
	}
	for _, required := range server.Require {
		if required.Path == api && required.Version != tag {
			t.Errorf("go.mod requires %s %s, and this tree becomes %s: change go.mod and go.work, then run hack/update-vendor.sh", api, required.Version, tag)
		}
	}
	if len(workspace.Replace) != 1 || workspace.Replace[0].Old.Path != api || workspace.Replace[0].Old.Version != tag {
		t.Errorf("go.work replaces %v, want %s %s alone", workspace.Replace, api, tag)
	}
}

// judgeModules installs the server and builds a client outside of this repository, from both modules as the proxy
// will serve them.
func judgeModules(t *testing.T) {
	work := t.TempDir()
	proxy, outside := filepath.Join(work, "proxy"), filepath.Join(work, "client")
	publishModule(t, proxy, product, "go.mod", "HEAD", append([]string{"--", ".", ":!vendor"}, nestedModules(t)...)...)
	publishModule(t, proxy, api, "api/go.mod", "HEAD:api")
	must.Succeed(t, os.MkdirAll(outside, 0o755))
	cached := strings.TrimSpace(runGo(t, ".", nil, "env", "GOMODCACHE"))
	env := []string{
		// A separate module cache: a version never released must not stay in the user's cache.
		"GOMODCACHE=" + filepath.Join(work, "mod"), "GOBIN=" + filepath.Join(work, "bin"), "GOFLAGS=-modcacherw -trimpath -gcflags=all=-dwarf=false", "GOWORK=off",
		"GOPROXY=file://" + proxy + ",file://" + filepath.Join(cached, "cache", "download") + "," + strings.TrimSpace(runGo(t, ".", nil, "env", "GOPROXY")),
		"GOSUMDB=off", "GOGC=400",
	}

	runGo(t, outside, env, "install", product+"/cmd/kubizone@"+tag)
	out, err := exec.CommandContext(t.Context(), filepath.Join(work, "bin", "kubizone"), "version").Output()
	if want := "kubizone " + tag + " "; err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("kubizone version, installed by go: %v, %q, want %q", err, out, want)
	}

	program := readFile(t, "../../api/examples/publish/main.go")
	must.Succeed(t, os.WriteFile(filepath.Join(outside, "main.go"), program, 0o600))
	runGo(t, outside, env, "mod", "init", "example.org/client")
	runGo(t, outside, env, "get", api+"@"+tag)
	runGo(t, outside, env, "mod", "tidy")
	runGo(t, outside, env, "build", "-o", filepath.Join(work, "publish"), ".")
	graph := strings.Fields(runGo(t, outside, env, "list", "-m", "-f", "{{.Path}}", "all"))
	if !slices.Contains(graph, api) || slices.Contains(graph, product) || slices.ContainsFunc(graph, serverOnly.MatchString) {
		t.Errorf("the module graph of a client:\n%s", strings.Join(graph, "\n"))
	}
}

func nestedModules(t *testing.T) (left []string) {
	t.Helper()
	out := must.Get(exec.CommandContext(t.Context(), "git", "-C", "../..", "ls-files", "*/go.mod").Output())(t)
	for _, file := range strings.Fields(string(out)) {
		if !strings.HasPrefix(file, "vendor/") {
			left = append(left, ":!"+filepath.Dir(file))
		}
	}
	return left
}

// publishModule writes a module of the last commit, as later tagged, into a module proxy's directory.
func publishModule(t *testing.T, proxy, module, goMod, tree string, paths ...string) {
	t.Helper()
	at := filepath.Join(proxy, module, "@v")
	must.Succeed(t, os.MkdirAll(at, 0o755))
	arguments := append([]string{"-C", "../..", "archive", "--format", "zip", "--prefix", module + "@" + tag + "/", "--output", filepath.Join(at, tag+".zip"), tree}, paths...)
	if out, err := exec.CommandContext(t.Context(), "git", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("git archive: %v\n%s", err, out)
	}
	for name, text := range map[string]string{"list": tag + "\n", tag + ".info": `{"Version":"` + tag + `"}`, tag + ".mod": string(readFile(t, "../..", goMod))} {
		must.Succeed(t, os.WriteFile(filepath.Join(at, name), []byte(text), 0o600))
	}
}

func runGo(t *testing.T, dir string, env []string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", arguments...)
	command.Dir, command.Env = dir, append(os.Environ(), env...)
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(arguments, " "), err, stderr.String())
	}
	return string(out)
}
