// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
)

func TestParseSource_distinguishesViewsFromPaths(t *testing.T) {
	for text, want := range map[string]Source{
		"a.zone":         {Path: "a.zone"},
		"root=a.zone":    {Path: "a.zone", View: "root", viewGiven: true},
		"=a.zone":        {Path: "a.zone", viewGiven: true},
		"./a=b.zone":     {Path: "./a=b.zone"},
		"/tmp/x=1/a":     {Path: "/tmp/x=1/a"},
		"root=/tmp/x=1/": {Path: "/tmp/x=1/", View: "root", viewGiven: true},
		// An origin contains a dot.
		"example.org.=a":        {Path: "a", Origin: name.MustParse("example.org.")},
		"com.=a":                {Path: "a", Origin: name.MustParse("com.")},
		".=a":                   {Path: "a", Origin: name.Root},
		"inside=example.org.=a": {Path: "a", View: "inside", viewGiven: true, Origin: name.MustParse("example.org.")},
		"=example.org.=/x=1":    {Path: "/x=1", viewGiven: true, Origin: name.MustParse("example.org.")},
		"inside=com=a":          {Path: "com=a", View: "inside", viewGiven: true},
	} {
		got, err := ParseSource(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
		if got.String() != text {
			t.Errorf("%q is written back as %q", text, got)
		}
	}
	if got, err := ParseSource("example.org=a"); err != nil || got != (Source{Path: "a", Origin: name.MustParse("example.org.")}) {
		t.Errorf("a name without the last dot: %+v, %v", got, err)
	}
	for _, text := range []string{"", "root=", "Root=a.zone", "in side=a.zone", "example.org=", "a..b=c", "inside=a..b=c"} {
		if got, err := ParseSource(text); err == nil {
			t.Errorf("%q: %+v, want an error", text, got)
		}
	}
}

func TestFiles_takesWhatItKnowsAndSaysWhatItDoesNot(t *testing.T) {
	dir := t.TempDir()
	b := must.WriteFile(t, filepath.Join(dir, "b.yaml"), "")
	a := must.WriteFile(t, filepath.Join(dir, "sub", "a.json"), "")
	z := must.WriteFile(t, filepath.Join(dir, "sub", "z.zone"), "")
	other := must.WriteFile(t, filepath.Join(dir, "db.example.org"), "")
	must.WriteFile(t, filepath.Join(dir, "README.md"), "")

	got, err := Source{Path: dir}.Files()
	if want := (Files{Manifests: []string{b, a}, Zones: []string{z}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("directory: %+v, %v; want %+v", got, err, want)
	}
	got, err = Source{Path: other}.Files()
	if want := (Files{Zones: []string{other}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("file: %+v, %v; want %+v", got, err, want)
	}
	if _, err := (Source{Path: dir, View: "inside", viewGiven: true}).Files(); err == nil || !strings.Contains(err.Error(), b) {
		t.Errorf("a view for a manifest: %v", err)
	}
	for _, path := range []string{dir, b} {
		if _, err := (Source{Path: path, Origin: name.MustParse("example.org.")}).Files(); err == nil || !strings.Contains(err.Error(), "one zone file") {
			t.Errorf("the name of a zone for %s: %v", path, err)
		}
	}
	missing := filepath.Join(dir, "missing")
	if _, err := (Source{Path: missing}).Files(); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := (Source{Path: t.TempDir()}).Files(); err == nil {
		t.Error("an empty directory loads as if something were in it")
	}
}
