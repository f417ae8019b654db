// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestChanging_namesWhatExists: the files in each list of docs/changing.md exist, and each list names the test that
// finds a forgotten step. A file without a directory is in that of the file before.
func TestChanging_namesWhatExists(t *testing.T) {
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(`)
	for _, p := range listFiles(t) {
		if strings.HasSuffix(p, "_test.go") {
			for _, m := range declared.FindAllStringSubmatch(readFile(t, p), -1) {
				tests[m[1]] = true
			}
		}
	}
	fromRoot := regexp.MustCompile(`^(api|pkg|cmd|test|docs|charts)/\S*$`)
	ticked, step := regexp.MustCompile("`([^`]+)`"), regexp.MustCompile(`(?m)^\d\. `)
	sections := strings.Split(readFile(t, "docs/changing.md"), "\n## ")[1:]
	if len(sections) != 10 {
		t.Errorf("docs/changing.md has %d changes, want the 10 that come again and again", len(sections))
	}
	for _, section := range sections {
		title, body, _ := strings.Cut(section, "\n")
		steps, forgotten, found := strings.Cut(body, "\nTo find a forgotten step, run ")
		if !found {
			t.Errorf("%s: no paragraph says which test finds a forgotten step", title)
		}
		if n := len(step.FindAllString(steps, -1)); n < 2 {
			t.Errorf("%s: %d steps", title, n)
		}
		named := 0
		dir := ""
		for _, m := range ticked.FindAllStringSubmatch(steps, -1) {
			word := m[1]
			switch {
			case strings.HasPrefix(word, "Test"):
				t.Errorf("%s: %s is named among the steps", title, word)
			case fromRoot.MatchString(word):
				if !pathExists(word) {
					t.Errorf("%s: there is no %s", title, word)
				}
				named++
				if dir = word; path.Ext(word) != "" {
					dir = path.Dir(word)
				}
			case strings.HasSuffix(word, ".go"):
				if !pathExists(path.Join(dir, word)) {
					t.Errorf("%s: %s is not in %s", title, word, dir)
				}
			}
		}
		if named == 0 {
			t.Errorf("%s: no step names a file", title)
		}
		if !strings.Contains(forgotten, "go test ./") {
			t.Errorf("%s: no command finds a forgotten step", title)
		}
		for _, m := range ticked.FindAllStringSubmatch(forgotten, -1) {
			if strings.HasPrefix(m[1], "Test") && !tests[m[1]] {
				t.Errorf("%s: there is no test %s", title, m[1])
			}
			for _, word := range strings.Fields(m[1]) {
				if dir, ok := strings.CutPrefix(word, "./"); ok && !pathExists(strings.TrimSuffix(dir, "/...")) {
					t.Errorf("%s: there is no package %s", title, word)
				}
			}
		}
	}
}

func pathExists(p string) bool {
	_, err := os.Stat(filepath.Join(root, p))
	return err == nil
}
