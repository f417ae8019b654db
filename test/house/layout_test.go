// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

const root = "../.."

// listFiles returns all files that are or could be committed, except vendor/. Without git (a source archive), it
// walks the tree.
func listFiles(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard", "--", ".", ":!vendor")
	cmd.Dir = root
	var all []string
	if out, err := cmd.Output(); err == nil {
		all = strings.Split(strings.TrimSpace(string(out)), "\n")
	} else if err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if d.IsDir() && slices.Contains([]string{"vendor", ".git", "bin", ".kubizone"}, rel) {
			return filepath.SkipDir
		}
		if !d.IsDir() {
			all = append(all, filepath.ToSlash(rel))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	// git still lists a file deleted but not yet committed.
	return slices.DeleteFunc(all, func(p string) bool {
		info, err := os.Stat(filepath.Join(root, p))
		return err != nil || !info.Mode().IsRegular()
	})
}

func readFile(t *testing.T, p string) string {
	t.Helper()
	b := must.Get(os.ReadFile(filepath.Join(root, p)))(t)
	return string(b)
}

// generated matches the marker of https://go.dev/s/generatedcode.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func TestFiles_carryTheLicenseHeader(t *testing.T) {
	for _, p := range listFiles(t) {
		if ext := path.Ext(p); ext != ".go" && ext != ".sh" && p != ".ci/run" {
			continue
		}
		head := readFile(t, p)
		head = head[:min(len(head), 1500)]
		if generated.MatchString(head) {
			continue
		}
		if !strings.Contains(head, "Copyright The Kubizone Authors.") || !strings.Contains(head, "SPDX-License-Identifier: Apache-2.0") {
			t.Errorf("%s has no license header: run hack/update-boilerplate.sh", p)
		}
	}
}

// hack/update-codegen.sh writes all of machineWritten.
var machineWritten = []string{"pkg/apis/openapi/...", "api/client/..."}

func TestPackages_haveNamesOfTheDomain(t *testing.T) {
	banned := []string{"util", "utils", "common", "helper", "helpers", "type", "types", "core", "manager", "misc", "base", "lib", "shared"}
	for _, p := range listPackages(t) {
		for _, part := range strings.Split(p.trimModule(), "/") {
			if slices.Contains(banned, part) {
				t.Errorf("%s: %q says nothing about what lives there; name it by its noun or its task", p.trimModule(), part)
			}
			// Commands have dashes, and the names of test directories are statements.
			if strings.ContainsAny(part, "_-") && matchesPattern("pkg/...", p.trimModule()) {
				t.Errorf("%s: %q is more than one word", p.trimModule(), part)
			}
		}
	}
}

// isProgram: no package imports a program, and its help text explains it.
func isProgram(p *listed) bool {
	return path.Dir(p.trimModule()) == "cmd" && slices.Contains(p.GoFiles, "main.go")
}

func TestPackages_explainThemselves(t *testing.T) {
	fileName := regexp.MustCompile(`\b[\w/.-]+\.(go|txt|md|txtar)\b`)
	numbered := regexp.MustCompile(`(?m)\([A-Z]?1\) |^\s*[A-Z]?1\. `) // (1) or (I1) in the text, or a list of 1. or I1.
	for _, p := range listPackages(t) {
		if anyMatches(machineWritten, p.trimModule()) || isProgram(p) || strings.HasPrefix(p.trimModule(), "test/interop/") &&
			len(p.GoFiles) == 0 {
			continue
		}
		full := filepath.Join(root, p.trimModule(), "doc.go")
		tree, err := parser.ParseFile(token.NewFileSet(), full, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Errorf("%s has no doc.go: %v", p.trimModule(), err)
			continue
		}
		text := tree.Doc.Text()
		want := "Package " + tree.Name.Name
		if tree.Name.Name == "main" {
			want = "Command " + path.Base(p.trimModule())
		}
		if !strings.HasPrefix(text, want) {
			t.Errorf("%s/doc.go: begins with %q", p.trimModule(), want)
		}
		var paragraphs int
		var first string // text of the last block that is no directive
		for _, b := range new(comment.Parser).Parse(text).Content {
			if _, ok := b.(*comment.Paragraph); ok {
				paragraphs++
			}
			var printer comment.Printer
			if s := string(printer.Text(&comment.Doc{Content: []comment.Block{b}})); !strings.HasPrefix(s, "+") {
				first = s
			}
		}
		single := len(p.GoFiles) == 2 // beside doc.go
		if !numbered.MatchString(text) || paragraphs < 3 && !single {
			t.Errorf("%s/doc.go: paragraphs have the content, the guarantees (numbered) and, of several files, the first to read",
				p.trimModule())
		}
		found := false
		for _, name := range fileName.FindAllString(first, -1) {
			found = true
			_, below := os.Stat(filepath.Join(root, p.trimModule(), name))
			_, atRoot := os.Stat(filepath.Join(root, name))
			if below != nil && atRoot != nil {
				t.Errorf("%s/doc.go: sends the reader to %s, which does not exist", p.trimModule(), name)
			}
		}
		if !found && !single {
			t.Errorf("%s/doc.go: its last paragraph names no file to read first", p.trimModule())
		}
	}
}

func TestPackages_areDocumentedInOnePlace(t *testing.T) {
	for _, p := range listPackages(t) {
		for _, file := range p.GoFiles {
			if file == "doc.go" || isProgram(p) {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Error(err)
				continue
			}
			if tree.Doc != nil && !ast.IsGenerated(tree) && !generated.MatchString(readFile(t, path.Join(p.trimModule(), file))) {
				t.Errorf("%s/%s has a package comment: it belongs into doc.go", p.trimModule(), file)
			}
		}
	}
}

func TestFiles_areNamedByWhatMustHold(t *testing.T) {
	number := regexp.MustCompile(`(?i)(^|[^a-z])(issue|bug|gh|ticket|pr|fix)[-_#]?\d+`)
	for _, p := range listFiles(t) {
		if number.MatchString(p) {
			t.Errorf("%s is named after a number: name the property, put the link inside", p)
		}
	}
}

func TestSemantics_citedSentencesExist(t *testing.T) {
	defined := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^- (S\d+\.\d+) `).FindAllStringSubmatch(readFile(t, "docs/semantics.md"), -1) {
		if defined[m[1]] {
			t.Errorf("docs/semantics.md: %s stands there twice", m[1])
		}
		defined[m[1]] = true
	}
	if len(defined) < 50 {
		t.Fatalf("docs/semantics.md: only %d numbered sentences found", len(defined))
	}
	citation := regexp.MustCompile(`\bS[1-9]\d?\.\d+\b`)
	for _, p := range listFiles(t) {
		switch path.Ext(p) {
		case ".go", ".txt", ".txtar", ".md", ".yaml", ".sh":
		default:
			continue
		}
		for _, cited := range citation.FindAllString(readFile(t, p), -1) {
			if !defined[cited] {
				t.Errorf("%s cites %s, which docs/semantics.md does not have", p, cited)
			}
		}
	}
}

// listAnchors returns a page's anchors as code hosts make them: lower case, without punctuation, hyphens for spaces.
func listAnchors(page string) (names []string) {
	dropped := regexp.MustCompile(`\]\([^)]*\)|[^\p{L}\p{N}_ -]`)
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		names = append(names, strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(heading[1]), ""), " ", "-"))
	}
	return names
}

var namesReader = regexp.MustCompile(`^# .*\n+For `)

// TestDocuments_pointAtWhatExists covers every relative link of every page, and each path in backticks.
func TestDocuments_pointAtWhatExists(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]+))?\)`)
	ticked := regexp.MustCompile("`((?:pkg|cmd|test|hack|docs|artifacts|charts|webhook-server)/[^`\\s*<>{}…]*)`")
	exists := func(p string) bool {
		_, err := os.Stat(filepath.Join(root, p))
		return err == nil
	}
	for _, p := range listFiles(t) {
		if path.Ext(p) != ".md" {
			continue
		}
		text := readFile(t, p)
		if path.Dir(p) == "docs" && !namesReader.MatchString(text) {
			t.Errorf("%s: the first line below the title must name the readers of the page, as in: For platform engineers", p)
		}
		if path.Dir(p) == "docs" && path.Base(p) != "README.md" && !strings.Contains(readFile(t, "docs/README.md"), "]("+path.Base(p)) {
			t.Errorf("no link of docs/README.md leads to %s", p)
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			to := p
			if m[1] != "" {
				to = path.Join(path.Dir(p), m[1])
			}
			if !exists(to) {
				t.Errorf("%s links to %s, which does not exist", p, m[1])
			} else if m[2] != "" && path.Ext(to) == ".md" && !slices.Contains(listAnchors(readFile(t, to)), m[2]) {
				t.Errorf("%s links to %s#%s, and no heading there has that name", p, m[1], m[2])
			}
		}
		for _, m := range ticked.FindAllStringSubmatch(text, -1) {
			if !exists(strings.TrimSuffix(m[1], "/...")) {
				t.Errorf("%s names %s, which does not exist", p, m[1])
			}
		}
	}
}

// TestContributing_hasARowForEachHouse: the table of houses names them in the order of their borders, and each path in
// a row exists, below the house or below the root.
func TestContributing_hasARowForEachHouse(t *testing.T) {
	ticked := regexp.MustCompile("`([^`]+)`")
	_, after, _ := strings.Cut(readFile(t, "CONTRIBUTING.md"), "| house |")
	var named []string
	for _, line := range strings.Split(after, "\n")[2:] {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != 3 {
			break
		}
		house := strings.Trim(strings.TrimSpace(cells[0]), "`")
		named = append(named, strings.TrimPrefix(house, "pkg/"))
		for _, m := range ticked.FindAllStringSubmatch(cells[2], -1) {
			if m[1] != "Ready" && !pathExists(path.Join(house, m[1])) && !pathExists(m[1]) {
				t.Errorf("CONTRIBUTING.md: the row of %s names %s, which does not exist", house, m[1])
			}
		}
	}
	var want []string
	for _, h := range houses {
		want = append(want, h.name)
	}
	if !slices.Equal(named, want) {
		t.Errorf("CONTRIBUTING.md: the table of houses has rows for %v, want %v", named, want)
	}
}

// TestMakefile_everyTargetExplainsItself keeps the output of make complete, and every called script present.
func TestMakefile_everyTargetExplainsItself(t *testing.T) {
	text := readFile(t, "Makefile")
	daily := 0
	for _, m := range regexp.MustCompile(`(?m)^\.PHONY: (\S+)\n(.*)$`).FindAllStringSubmatch(text, -1) {
		switch {
		case !strings.HasPrefix(m[2], m[1]+":") || !strings.Contains(m[2], " ## ") && !strings.Contains(m[2], " ##- "):
			t.Errorf("Makefile: target %s has no line for the lists (## …, or ##- … if it is not for every day)", m[1])
		case strings.Contains(m[2], " ## "):
			daily++
		}
	}
	if daily != 8 {
		t.Errorf("Makefile: make help lists %d targets, and a newcomer is to see eight: mark the others with ##-", daily)
	}
	for _, script := range regexp.MustCompile(`hack/[\w-]+\.sh`).FindAllString(text, -1) {
		if info, err := os.Stat(filepath.Join(root, script)); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("Makefile calls %s, which is no executable file", script)
		}
	}
}

// TestHack_everyVerifyHasAnUpdate: a failing verify script names the update. Linter findings and sentences without a
// test are repaired by hand.
func TestHack_everyVerifyHasAnUpdate(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join(root, "hack", "verify-*.sh"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no hack/verify-*.sh: %v", err)
	}
	for _, full := range scripts {
		verify := "hack/" + filepath.Base(full)
		if verify == "hack/verify-lint.sh" || verify == "hack/verify-semantics.sh" {
			continue
		}
		update := strings.Replace(verify, "verify-", "update-", 1)
		if _, err := os.Stat(filepath.Join(root, update)); err != nil {
			t.Errorf("%s has no %s", verify, update)
		}
		if !strings.Contains(readFile(t, verify), "repair with: "+update) {
			t.Errorf("%s does not name %s when it fails", verify, update)
		}
	}
}
