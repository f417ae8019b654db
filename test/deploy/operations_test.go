// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/cmd"
	"kubi.zone/kubizone/test/must"
)

// M5: commands pasted from the page or from --help work in the installed pods: the image has no PATH, and the data is
// at the manifests' path.
func TestOperations_nameThePodsOwnPaths(t *testing.T) {
	image := must.Get(os.ReadFile("../../hack/build-release.sh"))(t)
	built := regexp.MustCompile(`(?m)^build_image (kubizone) `).FindSubmatch(image)
	if built == nil || !bytes.Contains(image, []byte(`--entrypoint "/$1"`)) {
		t.Fatal("the image has no entrypoint")
	}
	entrypoint := "/" + string(built[1])
	var directories []string
	for _, form := range []string{"embedded", "ha"} {
		text := must.Get(os.ReadFile(filepath.Join(manifests, form, "workload.yaml")))(t)
		for _, found := range regexp.MustCompile(`--etcd-data-dir=(\S+)`).FindAllSubmatch(text, -1) {
			directories = append(directories, string(found[1]))
		}
	}
	if len(directories) != 2 {
		t.Fatalf("data directories %q of two forms", directories)
	}

	page := must.Get(os.ReadFile("../../docs/operations.md"))(t)
	texts := map[string]string{"docs/operations.md": string(page)}
	for _, command := range cmd.New().Commands() {
		texts[command.CommandPath()] = command.Example
	}
	executed, placed := 0, 0
	for where, text := range texts {
		for _, found := range regexp.MustCompile(`exec \S+ -- (?:\\\s+)?(\S+)`).FindAllStringSubmatch(text, -1) {
			executed++
			if found[1] != entrypoint {
				t.Errorf("%s executes %s, the image has %s", where, found[1], entrypoint)
			}
		}
		for _, found := range regexp.MustCompile(`data-dir (/\S+)`).FindAllStringSubmatch(text, -1) {
			placed++
			if directory := strings.TrimSuffix(found[1], "`"); !slices.Contains(directories, directory) {
				t.Errorf("%s has the data in %s, the manifests in %q", where, directory, directories)
			}
		}
	}
	if executed < 3 || placed < 6 {
		t.Errorf("%d commands executed in pods, %d directories: the page or its form has changed", executed, placed)
	}
}
