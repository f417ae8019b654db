// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bufio"
	"debug/elf"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/rig"
)

// instruction is one line of the Containerfile, with what it continues on.
type instruction struct{ word, rest string }

// stages are the instructions after each FROM, that one included.
func stages(t *testing.T) [][]instruction {
	t.Helper()
	file, err := os.Open("../../artifacts/image/Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all [][]instruction
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasSuffix(line, "\\") {
			t.Fatalf("a continued line: %s", line)
		}
		word, rest, _ := strings.Cut(line, " ")
		if word == "FROM" {
			all = append(all, nil)
		}
		if len(all) > 0 {
			all[len(all)-1] = append(all[len(all)-1], instruction{word, rest})
		}
	}
	return all
}

func TestImage_isOneBinaryForNobody(t *testing.T) {
	all := stages(t)
	if len(all) != 2 {
		t.Fatalf("%d stages", len(all))
	}
	var words, copied []string
	for _, one := range all[1] {
		words = append(words, one.word)
		switch one.word {
		case "FROM":
			if one.rest != "scratch" {
				t.Errorf("FROM %s", one.rest)
			}
		case "COPY":
			fields := strings.Fields(one.rest)
			copied = append(copied, fields[len(fields)-1])
			if !slices.Contains(fields, "--chown=0:0") {
				t.Errorf("who runs it could change it: COPY %s", one.rest)
			}
		case "USER":
			if !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(one.rest) {
				t.Errorf("USER %s: runAsNonRoot needs a number, and not 0", one.rest)
			}
		case "ENTRYPOINT":
			if one.rest != `["/kubizone"]` {
				t.Errorf("ENTRYPOINT %s: there is no shell", one.rest)
			}
		}
	}
	if want := []string{"FROM", "COPY", "COPY", "USER", "ENTRYPOINT"}; !slices.Equal(words, want) {
		t.Errorf("instructions %q", words)
	}
	if want := []string{"/etc/ssl/certs/ca-certificates.crt", "/kubizone"}; !slices.Equal(copied, want) {
		t.Errorf("the image has %q", copied)
	}
}

// The build stage has all that the binary is made of, so that it builds without a network.
func TestImage_copiesWhatItBuildsFrom(t *testing.T) {
	copied := map[string]bool{}
	var environment, build string
	for _, one := range stages(t)[0] {
		switch one.word {
		case "COPY":
			fields := strings.Fields(one.rest)
			for _, source := range fields[:len(fields)-1] {
				copied[strings.TrimSuffix(source, "/")] = true
			}
		case "ENV":
			environment += one.rest
		case "RUN":
			build += one.rest
		}
	}
	for _, want := range []string{"go.mod", "go.sum", "vendor"} {
		if !copied[want] {
			t.Errorf("%s is not copied", want)
		}
	}
	for _, want := range []string{"CGO_ENABLED=0", "-mod=vendor"} {
		if !strings.Contains(environment, want) {
			t.Errorf("the build is without %s", want)
		}
	}
	if !strings.Contains(build, "./cmd/kubizone") || strings.Contains(build, "curl") {
		t.Errorf("RUN %s", build)
	}
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "kubi.zone/kubizone/cmd/kubizone").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		if own, ok := strings.CutPrefix(path, "kubi.zone/kubizone/"); ok {
			if room, _, _ := strings.Cut(own, "/"); !copied[room] {
				t.Errorf("%s is not copied", own)
			}
		}
	}
	moduleGo, err := exec.Command("go", "list", "-m", "-f", "{{.GoVersion}}").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile("../../artifacts/image/Containerfile")
	version := regexp.MustCompile(`ARG GO_VERSION=(\S+)`).FindSubmatch(text)
	if version == nil || !strings.HasPrefix(strings.TrimSpace(string(moduleGo))+".", string(version[1])+".") {
		t.Errorf("the image builds with Go %s, go.mod says %s", version, moduleGo)
	}
}

// There is no loader in the image and no library.
func TestBinary_isStatic(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary")
	}
	binary, err := rig.Kubizone(t.Context(), t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP || part.Type == elf.PT_DYNAMIC {
			t.Errorf("the binary has %v", part.Type)
		}
	}
	if libraries, _ := file.ImportedLibraries(); len(libraries) > 0 {
		t.Errorf("the binary needs %q", libraries)
	}
}
