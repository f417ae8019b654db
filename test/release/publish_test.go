// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// R6: images and charts arrive in a registry; exactly these are signed and released, and the files with their
// checksums. Programs that record their arguments replace cosign and gh, which need public servers.
func judgePublication(t *testing.T, dist string) {
	crane := rig.Need(rig.Tool("crane"))(t)
	address := startRegistry(t, crane)

	bin, called := t.TempDir(), filepath.Join(t.TempDir(), "called")
	for _, program := range []string{"cosign", "gh"} {
		if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\necho "+program+" \"$@\" >>"+called+"\n"), 0o755); err != nil { //nolint:gosec // it is executed
			t.Fatal(err)
		}
	}
	digests := map[string]string{} // of the images
	for _, of := range listImages(dist) {
		name := filepath.Join(of.dir, "image.txt")
		_, digest, _ := strings.Cut(strings.TrimSpace(string(readFile(t, name))), "@")
		digests[of.program] = digest
		must.Succeed(t, os.WriteFile(name, []byte(address+"/acme/"+of.program+":"+tag+"@"+digest), 0o600))
	}
	publish := exec.CommandContext(t.Context(), "../../hack/publish-release.sh", dist)
	publish.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "COSIGN_KEY=its.key")
	if out, err := publish.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	resolve := func(reference string) string {
		out, err := exec.CommandContext(t.Context(), crane, "digest", address+reference).Output()
		if err != nil {
			t.Fatalf("%s: %v", reference, err)
		}
		return strings.TrimSpace(string(out))
	}
	var want []string
	for _, of := range listImages(dist) {
		if got := resolve("/acme/" + of.program + ":" + tag); got != digests[of.program] {
			t.Errorf("the image was pushed as %s, the manifests name %s", got, digests[of.program])
		}
		want = append(want,
			"cosign sign --yes --recursive --key its.key "+address+"/acme/"+of.program+"@"+digests[of.program],
			"cosign sign --yes --key its.key "+address+"/acme/charts/"+of.program+"@"+resolve("/acme/charts/"+of.program+":"+tag[1:]))
	}
	want = append(want,
		"cosign sign-blob --yes --key its.key --bundle "+dist+"/SHA256SUMS.sigstore.json "+dist+"/SHA256SUMS",
		"gh release create "+tag+" --verify-tag --title "+tag+" --notes-file "+dist+"/notes.md",
	)
	got := strings.Split(strings.TrimSpace(string(readFile(t, called))), "\n")
	if len(got) != len(want) {
		t.Fatalf("called:\n%s", strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("called %s\nwant   %s", got[i], want[i])
		}
	}
	for _, line := range strings.Split(string(readFile(t, dist, "SHA256SUMS")), "\n") {
		if _, file, ok := strings.Cut(line, "  "); ok && !strings.Contains(got[len(got)-1], dist+"/"+file) {
			t.Errorf("%s is not in the release: %s", file, got[len(got)-1])
		}
	}
}

func startRegistry(t *testing.T, crane string) string {
	t.Helper()
	registry := exec.CommandContext(t.Context(), crane, "registry", "serve", "--address", "127.0.0.1:0")
	output := must.Get(registry.StderrPipe())(t)
	must.Succeed(t, registry.Start())
	lines := bufio.NewReader(output)
	first := must.Get(lines.ReadString('\n'))(t)
	go io.Copy(io.Discard, lines) //nolint:errcheck // until the registry ends, with the context of the test
	t.Cleanup(func() { _ = registry.Wait() })
	port := first[strings.LastIndex(first, " ")+1:]
	return "127.0.0.1:" + strings.TrimSpace(port)
}
