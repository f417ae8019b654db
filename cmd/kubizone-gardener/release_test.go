// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// descriptor is what an OCI index or manifest says of a blob.
type descriptor struct {
	Digest   string `json:"digest"`
	Platform struct {
		Architecture string `json:"architecture"`
	} `json:"platform"`
}

// layout is an OCI layout in a directory.
type layout string

func (l layout) read(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(string(l), path))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func blob(digest string) string { return "blobs/" + strings.Replace(digest, ":", "/", 1) }

// files are the contents of a layer by their names.
func (l layout) files(t *testing.T, digest string) map[string]string {
	t.Helper()
	f, err := os.Open(filepath.Join(string(l), blob(digest)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for in := tar.NewReader(unpacked); ; {
		header, err := in.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		all[header.Name] = string(text)
	}
}

// Gardener takes the chart from a registry, and the chart names the image by its digest, so a landscape runs what was
// packed.
func TestRelease_chartNamesTheImage(t *testing.T) {
	for _, tool := range []string{"crane", "helm"} {
		cmd := exec.Command("hack/build-tool.sh", tool, "--cached")
		cmd.Dir = "../.."
		if err := cmd.Run(); err != nil {
			if os.Getenv("KUBIZONE_TEST_REQUIRE_ALL") == "" {
				t.Skipf("%s is not built: hack/build-tool.sh %s", tool, tool)
			}
			t.Fatalf("%s is not built: hack/build-tool.sh %s", tool, tool)
		}
	}
	dist := t.TempDir()
	pack := exec.Command("hack/build-gardener.sh", dist)
	pack.Dir, pack.Env = "../..", append(os.Environ(), "PLATFORMS=linux/"+runtime.GOARCH, "IMAGE=registry.example.org/kubizone-gardener")
	if out, err := pack.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	image := layout(filepath.Join(dist, "image"))
	var index struct {
		Manifests []descriptor `json:"manifests"`
	}
	image.read(t, "index.json", &index)
	digest := index.Manifests[0].Digest
	image.read(t, blob(digest), &index)
	if len(index.Manifests) != 1 || index.Manifests[0].Platform.Architecture != runtime.GOARCH {
		t.Fatalf("the image has %+v", index.Manifests)
	}
	var manifest struct {
		Config descriptor   `json:"config"`
		Layers []descriptor `json:"layers"`
	}
	image.read(t, blob(index.Manifests[0].Digest), &manifest)
	var config struct {
		Config struct {
			User       string
			Entrypoint []string
		} `json:"config"`
	}
	image.read(t, blob(manifest.Config.Digest), &config)
	if config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/kubizone-gardener"}) {
		t.Errorf("the image runs %+v", config.Config)
	}
	program := filepath.Join(dist, name)
	if err := os.WriteFile(program, []byte(image.files(t, manifest.Layers[0].Digest)[name]), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "--help").CombinedOutput(); err != nil || !strings.Contains(string(out), "--local-namespaces") {
		t.Errorf("the program of the image says %s", out)
	}

	packed := layout(filepath.Join(dist, "chart"))
	packed.read(t, "index.json", &index)
	packed.read(t, blob(index.Manifests[0].Digest), &manifest)
	values := packed.files(t, manifest.Layers[0].Digest)["kubizone-gardener/values.yaml"]
	for _, line := range []string{"  repository: registry.example.org/kubizone-gardener\n", "  digest: " + digest + "\n"} {
		if !strings.Contains(values, line) {
			t.Errorf("the chart has no %q in its values:\n%s", line, values)
		}
	}
}
