// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/version"
	"kubi.zone/kubizone/test/rig"
)

var built = flag.String("dist", "", "judge the release of this directory, not one of stand-ins")

const builder = "../../hack/build-release.sh"

// tag is the version that this tree becomes.
var tag = "v" + strings.TrimSuffix(version.Number(), "-dev")

// makeRelease packages stand-ins for two platforms.
func makeRelease(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"crane", "helm"} {
		_, err := rig.Tool(tool)
		rig.SkipMissing(t, err)
	}
	_, err := rig.KubeProgram("kubectl")
	rig.SkipMissing(t, err)
	dist := t.TempDir()
	for _, architecture := range []string{"amd64", "arm64"} {
		programs := filepath.Join(dist, "programs", "linux-"+architecture)
		first := filepath.Join(programs, "kubizone")
		build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-X kubi.zone/kubizone/pkg/version.number="+tag[1:], "-o", first, "./testdata/standin")
		build.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+architecture, "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, other := range []string{"bind-agent", "webhook-server"} {
			if err := os.Link(first, filepath.Join(programs, other)); err != nil {
				t.Fatal(err)
			}
		}
	}
	runBuilder(t, dist)
	return dist
}

func runBuilder(t *testing.T, dist string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), builder, dist)
	command.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000", "VERSION="+tag)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", builder, err, out)
	}
}

func TestRelease(t *testing.T) {
	dist := *built
	if dist == "" {
		dist = makeRelease(t)
	}
	t.Run("checksums", func(t *testing.T) { judgeChecksums(t, dist) })
	t.Run("archives", func(t *testing.T) { judgeArchives(t, dist) })
	t.Run("image", func(t *testing.T) { judgeImage(t, dist) })
	t.Run("manifests", func(t *testing.T) { judgeManifests(t, dist) })
	t.Run("chart", func(t *testing.T) { judgeChart(t, dist) })
	t.Run("notes", func(t *testing.T) {
		notes := string(readFile(t, dist, "notes.md"))
		relative := regexp.MustCompile(`\]\([^)]*\)`).FindAllString(strings.ReplaceAll(notes, "](https://", ""), -1)
		if image := strings.TrimSpace(string(readFile(t, dist, "image.txt"))); !strings.Contains(notes, "\n- ") || strings.Contains(notes, "\n## ") || !strings.Contains(notes, image) || len(relative) > 0 {
			t.Errorf("the notes are not those of one release, or have relative links %q:\n%s", relative, notes)
		}
	})
	if *built != "" {
		t.Run("modules", judgeModules)
		return
	}
	t.Run("again", func(t *testing.T) { // R5
		sums := readFile(t, dist, "SHA256SUMS")
		again := t.TempDir()
		if err := os.CopyFS(filepath.Join(again, "programs"), os.DirFS(filepath.Join(dist, "programs"))); err != nil {
			t.Fatal(err)
		}
		runBuilder(t, again)
		if second := readFile(t, again, "SHA256SUMS"); !bytes.Equal(sums, second) {
			t.Errorf("packaged twice:\n%s\n%s", sums, second)
		}
	})
	t.Run("README", func(t *testing.T) { judgeReadme(t, dist) })
	t.Run("published", func(t *testing.T) { judgePublication(t, dist) })
}

// A tag on the wrong commit makes no release.
func TestRelease_isOfTheTreesVersion(t *testing.T) {
	command := exec.CommandContext(t.Context(), builder, t.TempDir())
	command.Env = append(os.Environ(), "VERSION=v0.4.9")
	out, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "this tree becomes "+tag) {
		t.Errorf("%v: %s", err, out)
	}
}

// R1
func judgeChecksums(t *testing.T, dist string) {
	entries, err := os.ReadDir(dist)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, entry := range entries {
		// Published beside the files: the image, from its layout, and the notes and sums themselves.
		if name := entry.Name(); !entry.IsDir() && !slices.Contains([]string{"SHA256SUMS", "image.txt", "notes.md"}, name) {
			want = append(want, fmt.Sprintf("%x  %s", sha256.Sum256(readFile(t, dist, name)), name))
		}
	}
	got := strings.Split(strings.TrimSpace(string(readFile(t, dist, "SHA256SUMS"))), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("SHA256SUMS has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// R2, R4: each platform has the programs that were built for it, the licences of what is in them, and their SBOM.
func judgeArchives(t *testing.T, dist string) {
	platforms, err := os.ReadDir(filepath.Join(dist, "programs"))
	if err != nil {
		t.Fatal(err)
	}
	for _, platform := range platforms {
		name := "kubizone-" + tag + "-" + platform.Name()
		unpacked, err := gzip.NewReader(bytes.NewReader(readFile(t, dist, name+".tar.gz")))
		if err != nil {
			t.Fatal(err)
		}
		files := unpack(t, unpacked)
		names := slices.Collect(maps.Keys(files))
		goos, architecture, _ := strings.Cut(platform.Name(), "-")
		bill := readBill(t, dist, name+".spdx.json")
		for _, program := range []string{"kubizone", "bind-agent", "webhook-server"} {
			want := readFile(t, dist, "programs", platform.Name(), program)
			if file := files[program]; !bytes.Equal(file.content, want) || file.header.Mode != 0o755 {
				t.Errorf("%s: %s is another, or cannot be executed", name, program)
			}
			info, err := buildinfo.Read(bytes.NewReader(want))
			if err != nil {
				t.Fatal(err)
			}
			settings := map[string]string{}
			for _, s := range info.Settings {
				settings[s.Key] = s.Value
			}
			if settings["GOOS"] != goos || settings["GOARCH"] != architecture || settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" {
				t.Errorf("%s: %s was built with %v", name, program, settings)
			}
			if sum := fmt.Sprintf("%x", sha256.Sum256(want)); bill[program+" "+tag] != sum {
				t.Errorf("%s: the SBOM has %s for %s, want %s", name, bill[program+" "+tag], program, sum)
			}
			for _, module := range info.Deps {
				if module.Path == api { // of this repository: its version is the release's, its licence LICENSE
					if _, ok := bill[module.Path+" "+tag]; !ok {
						t.Errorf("%s: the SBOM is without %s %s", name, module.Path, tag)
					}
					continue
				}
				if _, ok := bill[module.Path+" "+module.Version]; !ok {
					t.Errorf("%s: the SBOM is without %s %s", name, module.Path, module.Version)
				}
				if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "licenses/"+module.Path+"/") }) {
					t.Errorf("%s: no licence of %s", name, module.Path)
				}
			}
		}
		if files["LICENSE"].header == nil {
			t.Errorf("%s: no LICENSE", name)
		}
	}
}

// readBill is what an SBOM lists, "name version", and the checksum of what has one.
func readBill(t *testing.T, dist, name string) map[string]string {
	t.Helper()
	var bill struct {
		Packages []struct {
			Name, VersionInfo string
			Checksums         []struct{ ChecksumValue string }
		}
	}
	if err := json.Unmarshal(readFile(t, dist, name), &bill); err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for _, p := range bill.Packages {
		listed[p.Name+" "+p.VersionInfo] = ""
		for _, sum := range p.Checksums {
			listed[p.Name+" "+p.VersionInfo] = sum.ChecksumValue
		}
	}
	return listed
}

// R3
func judgeManifests(t *testing.T, dist string) {
	for form, servers := range map[string]string{"install.yaml": "replicas: 1\n", "install-ha.yaml": "replicas: 3\n"} {
		text := string(readFile(t, dist, form))
		judgeImages(t, dist, form, text)
		for _, want := range []string{"kind: StatefulSet\n", "kind: Deployment\n", "kind: APIService\n", servers} {
			if !strings.Contains(text, want) {
				t.Errorf("%s is without %q", form, want)
			}
		}
	}
}

// judgeImages finds the image in every container of the servers and the controller.
func judgeImages(t *testing.T, dist, name, manifests string) {
	t.Helper()
	image := strings.TrimSpace(string(readFile(t, dist, "image.txt")))
	images := regexp.MustCompile(`(?m)^\s+image: (.*)$`).FindAllStringSubmatch(manifests, -1)
	for _, found := range images {
		if found[1] != image {
			t.Errorf("%s names the image %s, want %s", name, found[1], image)
		}
	}
	if len(images) < 2 {
		t.Errorf("%s has %d containers, want servers and controller", name, len(images))
	}
}

// R3
func judgeChart(t *testing.T, dist string) {
	chart := "kubizone-" + tag[1:] + ".tgz"
	unpacked, err := gzip.NewReader(bytes.NewReader(readFile(t, dist, chart)))
	if err != nil {
		t.Fatal(err)
	}
	files := unpack(t, unpacked)
	lines := strings.Split(string(files["kubizone/Chart.yaml"].content), "\n")
	for _, want := range []string{"version: " + tag[1:], "appVersion: " + tag[1:]} {
		if !slices.Contains(lines, want) {
			t.Errorf("Chart.yaml is without %q", want)
		}
	}
	helm, err := rig.Tool("helm")
	rig.SkipMissing(t, err)
	out, err := exec.CommandContext(t.Context(), helm, "template", "kubizone", filepath.Join(dist, chart)).Output()
	if err != nil {
		t.Fatalf("without values it cannot be rendered: %v", err)
	}
	judgeImages(t, dist, chart, string(out))
}

// packed is one file of an archive.
type packed struct {
	header  *tar.Header
	content []byte
}

// unpack reads an archive of regular files and directories.
func unpack(t *testing.T, archive io.Reader) map[string]packed {
	t.Helper()
	files := map[string]packed{}
	for reader := tar.NewReader(archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		if !fs.ValidPath(path.Clean(header.Name)) || header.Typeflag != tar.TypeReg && header.Typeflag != tar.TypeDir {
			t.Fatalf("the archive has %s of type %c", header.Name, header.Typeflag)
		}
		files[header.Name] = packed{header, content}
	}
}

func readFile(t *testing.T, elements ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
