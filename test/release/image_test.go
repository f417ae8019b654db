// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"kubi.zone/kubizone/test/must"
)

// descriptor, index and manifest are types of the OCI image specification.
type descriptor struct {
	MediaType string
	Digest    string
	Size      int
	Platform  struct{ OS, Architecture string }
	// Annotations: only of the image in index.json.
	Annotations map[string]string
}

type index struct{ Manifests []descriptor }

type manifest struct {
	Config descriptor
	Layers []descriptor
}

type config struct {
	OS, Architecture string
	Config           struct {
		User       string
		Entrypoint []string
		Labels     map[string]string
	}
	RootFS struct {
		DiffIDs []string `json:"diff_ids"`
	}
}

func readBlob(t *testing.T, dist string, d descriptor, mediaType string) []byte {
	t.Helper()
	content := readFile(t, dist, "image", "blobs", strings.Replace(d.Digest, ":", "/", 1))
	if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(content)); sum != d.Digest || len(content) != d.Size || d.MediaType != "application/vnd.oci.image."+mediaType {
		t.Fatalf("a blob of %d octets with digest %s, described as %+v", len(content), sum, d)
	}
	return content
}

func decodeBlob[T any](t *testing.T, dist string, d descriptor, mediaType string) (v T) {
	t.Helper()
	must.Succeed(t, json.Unmarshal(readBlob(t, dist, d, mediaType), &v))
	return v
}

// R2
func judgeImage(t *testing.T, release string, of image) {
	dist := of.dir
	if layout := string(readFile(t, dist, "image", "oci-layout")); !strings.Contains(layout, `"imageLayoutVersion": "1.0.0"`) {
		t.Errorf("oci-layout: %s", layout)
	}
	var top index
	if err := json.Unmarshal(readFile(t, dist, "image", "index.json"), &top); err != nil || len(top.Manifests) != 1 {
		t.Fatalf("index.json has %d images: %v", len(top.Manifests), err)
	}
	name := strings.TrimSpace(string(readFile(t, dist, "image.txt")))
	names := top.Manifests[0].Annotations
	if names["io.containerd.image.name"]+"@"+top.Manifests[0].Digest != name || names["org.opencontainers.image.ref.name"] != tag || !strings.Contains(name, ":"+tag+"@") {
		t.Errorf("the image is called %s, and is %s with names %v", name, top.Manifests[0].Digest, names)
	}
	var platforms []string
	for _, one := range decodeBlob[index](t, dist, top.Manifests[0], "index.v1+json").Manifests {
		platform := one.Platform.OS + "-" + one.Platform.Architecture
		platforms = append(platforms, platform)
		judgePlatform(t, release, of, platform, decodeBlob[manifest](t, dist, one, "manifest.v1+json"))
	}
	built, err := filepath.Glob(filepath.Join(dist, "programs", "linux-*"))
	for i := range built {
		built[i] = filepath.Base(built[i])
	}
	if err != nil || len(built) == 0 || !slices.Equal(platforms, built) {
		t.Errorf("the image is for %q, the programs for %q", platforms, built)
	}
	tarred := unpackArchive(t, bytes.NewReader(readFile(t, release, of.program+"-"+tag+"-image.tar")))
	must.Succeed(t, filepath.WalkDir(filepath.Join(dist, "image"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(filepath.Join(dist, "image"), path)
		if !bytes.Equal(tarred[name].content, readFile(t, path)) {
			t.Errorf("the packed layout has another %s", name)
		}
		return err
	}))
}

func judgePlatform(t *testing.T, release string, of image, platform string, m manifest) {
	dist := of.dir
	c := decodeBlob[config](t, dist, m.Config, "config.v1+json")
	if c.OS+"-"+c.Architecture != platform || c.Config.User != "65532:65532" || !slices.Equal(c.Config.Entrypoint, []string{"/" + of.program}) ||
		c.Config.Labels["org.opencontainers.image.version"] != tag {
		t.Errorf("%s: configuration %+v", platform, c)
	}
	if len(m.Layers) != 1 || len(c.RootFS.DiffIDs) != 1 {
		t.Fatalf("%s: %d layers, %d of them in the configuration", platform, len(m.Layers), len(c.RootFS.DiffIDs))
	}
	unpacked := must.Get(gzip.NewReader(bytes.NewReader(readBlob(t, dist, m.Layers[0], "layer.v1.tar+gzip"))))(t)
	layer := must.Get(io.ReadAll(unpacked))(t)
	if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(layer)); sum != c.RootFS.DiffIDs[0] {
		t.Errorf("%s: the layer is %s, not %s", platform, sum, c.RootFS.DiffIDs[0])
	}
	files := unpackArchive(t, bytes.NewReader(layer))
	for name, file := range files {
		if h := file.header; h.Uid != 0 || h.Gid != 0 || h.Mode&^0o755 != 0 {
			t.Errorf("%s: %s of %d:%d has mode %o: another user than root can change it", platform, name, h.Uid, h.Gid, h.Mode)
		}
		if name != of.program && name != of.with && name != "LICENSE" && !strings.HasPrefix(name, "licenses/") {
			t.Errorf("%s: the image has %s", platform, name)
		}
	}
	program := files[of.program]
	if !bytes.Equal(program.content, readFile(t, dist, "programs", platform, of.program)) {
		t.Errorf("%s: the program of the image is another than the one that was built", platform)
	}
	judgeProgram(t, platform, of.program, program.content, readBill(t, release, of.program+"-"+tag+"-"+platform+".spdx.json"), files)
	judgeStatic(t, platform, program.content)
	if of.with != "" && !bytes.Equal(files[of.with].content, readFile(t, dist, "client", "programs", platform, of.with)) {
		t.Errorf("%s: %s of the image is another than the one that was built", platform, of.with)
	}
	if platform == "linux-"+runtime.GOARCH {
		out := runAlone(t, program.content, of)
		if of.run == "version" && !strings.HasPrefix(out, "kubizone "+tag+" ") {
			t.Errorf("kubizone version: %s", out)
		}
	}
}

// judgeStatic requires a static program: the image has neither loader nor library.
func judgeStatic(t *testing.T, platform string, program []byte) {
	file := must.Get(elf.NewFile(bytes.NewReader(program)))(t)
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP || part.Type == elf.PT_DYNAMIC {
			t.Errorf("%s: the program has %v", platform, part.Type)
		}
	}
	if machine := map[string]elf.Machine{"linux-amd64": elf.EM_X86_64, "linux-arm64": elf.EM_AARCH64}[platform]; file.Machine != machine {
		t.Errorf("%s: the program is for %v", platform, file.Machine)
	}
}

// runAlone runs the program as the image's user, in an otherwise empty file system.
func runAlone(t *testing.T, program []byte, of image) string {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, of.program), program, 0o755); err != nil { //nolint:gosec // as in the image
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), filepath.Join(root, of.program), of.run)
	if os.Getuid() == 0 {
		command.Path, command.Dir = "/"+of.program, "/"
		command.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	}
	command.Env = []string{}
	out, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", of.program, of.run, err, out)
	}
	return string(out)
}
