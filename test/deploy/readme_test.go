// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
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

// M9: the commands of README.md and docs/install.md that install the chart, delegate a name to a tenant and query a
// BIND do as documented. The test acts as kubelet, load balancer and administrator of the BIND: it runs the
// pod's program, and writes this machine's addresses into artifacts/start.
func TestReadme_installs(t *testing.T) {
	t.Parallel()
	commands := must.Get(rig.ReadConsole("../../docs/install.md", "The first name at a BIND of yours"))(t)
	page := must.Get(os.ReadFile("../../README.md"))(t)
	install := regexp.MustCompile(`(?m)^helm install .*\n`).FindString(string(page))
	if install == "" {
		t.Fatal("README.md has no helm install")
	}
	commands = slices.Insert(commands, 0, rig.Command{Line: install, Output: "...\n"})
	r := newRelease(t)
	dns := must.Get(rig.FreePort())(t)
	port := strconv.Itoa(int(dns.Port()))
	dir := t.TempDir()
	must.Get(runHelm(t, nil, "package", chart, "-d", filepath.Join(dir, "dist")))(t)
	copyStart(t, dir, strings.NewReplacer("address: 192.0.2.1", "address: 127.0.0.1:"+port, "\n  transfer:", "\n  allowLocalAddresses: true\n  transfer:"))
	// The image and the changes of newInstallation are added.
	program := rig.Need(rig.Tool("helm"))(t)
	for name, script := range map[string]string{
		"helm":    "exec " + program + ` "$@" --post-renderer rig --set image.repository=registry.example/kubizone`,
		"kubectl": "exec " + r.kubectl + ` "$@"`,
	} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	}
	environment := append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH")+":/usr/sbin", "HOME="+dir, "KUBECONFIG="+r.kube.AdminKubeconfig(), "HELM_PLUGINS="+r.plugins)
	here := strings.NewReplacer("@192.0.2.1", "@127.0.0.1 -p "+port)
	var primary string
	for _, c := range commands {
		command := exec.CommandContext(r.withTimeout(), "bash", "-c", here.Replace(c.Line))
		command.Dir, command.Env = dir, environment
		out, err := command.CombinedOutput() // a refusal is on the page too: the output decides
		if got := strings.TrimSpace(string(out)); c.Output != "...\n" {
			if d := cmp.Diff(strings.TrimSpace(c.Output), got); d != "" {
				t.Fatalf("$ %s(- docs/install.md, + real)\n%s", c.Line, d)
			}
		} else if err != nil {
			t.Fatalf("$ %s%v\n%s", c.Line, err, got)
		}
		switch {
		case strings.HasPrefix(c.Line, "helm upgrade"):
			objects := r.listObjects()
			r.startServer(objects)
			r.waitForKinds()
			r.waitReady("controller")
			primary = r.waitReady("primary")
		case strings.HasPrefix(c.Line, "kubectl get service"):
			startNamed(t, dir, port, primary[strings.LastIndex(primary, ":")+1:])
		}
	}
	if !slices.ContainsFunc(commands, func(c rig.Command) bool { return strings.HasPrefix(c.Line, "dig ") && c.Output != "" }) {
		t.Error("docs/install.md asks no name server")
	}
	r.waitForDiagnosis("as the pages install", 0, map[string]string{"installation": "OK", "servers": "OK", "zones": "OK"})
}

func copyStart(t *testing.T, dir string, addresses *strings.Replacer) {
	t.Helper()
	const from = "../../artifacts/start"
	files := must.Get(os.ReadDir(from))(t)
	to := filepath.Join(dir, "artifacts/start")
	must.Succeed(t, os.MkdirAll(to, 0o700))
	for _, file := range files {
		text := must.Get(os.ReadFile(filepath.Join(from, file.Name())))(t)
		must.Succeed(t, os.WriteFile(filepath.Join(to, file.Name()), []byte(addresses.Replace(string(text))), 0o600))
	}
}

func startNamed(t *testing.T, dir, port, primary string) {
	t.Helper()
	named := rig.Need(rig.Find("named", "make peers"))(t)
	text := must.Get(os.ReadFile(filepath.Join(dir, "artifacts/start/named.conf")))(t)
	conf := strings.NewReplacer(
		"/etc/bind", dir, "192.0.2.53", "127.0.0.1 port "+primary,
		`directory "/var/cache/bind";`, `directory "`+dir+`"; pid-file "named.pid"; session-keyfile "session.key"; listen-on port `+port+` { 127.0.0.1; };`,
	).Replace(string(text)) + "controls {};\n"
	path := filepath.Join(dir, "named.conf")
	must.Succeed(t, os.WriteFile(path, []byte(conf), 0o600))
	process := rig.RunProcess(t, named, "-g", "-4", "-n", "1", "-c", path)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	for start := time.Now(); !strings.Contains(process.Log(), "running\n"); rig.Pause(start) {
		select {
		case <-process.Ended():
			t.Fatal("named ended")
		case <-ctx.Done():
			t.Fatal("named does not run")
		default:
		}
	}
}
