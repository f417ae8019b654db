// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/test/must"
)

func TestDocument_hasEveryModuleOnce(t *testing.T) {
	shared := &debug.Module{Path: "example.org/Shared", Version: "v1.0.0"}
	replaced := &debug.Module{Path: "example.org/fork", Version: "v2.0.0+incompatible"}
	d := describePrograms("https://example.org/v1/name.spdx.json", "v1.2.3", time.Unix(0, 0).UTC(), []program{
		{"one", "aa", &debug.BuildInfo{GoVersion: "go1.26.0", Deps: []*debug.Module{shared, {Path: "example.org/old", Replace: replaced}, {Path: "kubi.zone/kubizone/api", Version: "(devel)"}}}},
		{"two", "bb", &debug.BuildInfo{GoVersion: "go1.26.0", Deps: []*debug.Module{
			shared, {Path: "kubi.zone/kubizone/api", Version: "v1.2.3", Replace: &debug.Module{Path: "../../api", Version: "(devel)"}},
		}}},
	})
	var got []string
	for _, p := range d.Packages {
		line := p.SPDXID + " " + p.Name + " " + p.VersionInfo
		for _, r := range p.ExternalRefs {
			line += " " + r.Locator
		}
		got = append(got, line)
	}
	for _, r := range d.Relationships {
		got = append(got, r.Element+" "+r.Type+" "+r.Related)
	}
	want := []string{
		"SPDXRef-Program-one one v1.2.3",
		"SPDXRef-Module-1 example.org/Shared v1.0.0 pkg:golang/example.org/shared@v1.0.0",
		"SPDXRef-Module-2 example.org/fork v2.0.0+incompatible pkg:golang/example.org/fork@v2.0.0%2Bincompatible",
		"SPDXRef-Module-3 kubi.zone/kubizone/api v1.2.3 pkg:golang/kubi.zone/kubizone/api@v1.2.3",
		"SPDXRef-Module-4 stdlib 1.26.0 pkg:golang/stdlib@1.26.0",
		"SPDXRef-Program-two two v1.2.3",
		"SPDXRef-DOCUMENT DESCRIBES SPDXRef-Program-one",
		"SPDXRef-Program-one DEPENDS_ON SPDXRef-Module-1",
		"SPDXRef-Program-one DEPENDS_ON SPDXRef-Module-2",
		"SPDXRef-Program-one DEPENDS_ON SPDXRef-Module-3",
		"SPDXRef-Program-one DEPENDS_ON SPDXRef-Module-4",
		"SPDXRef-DOCUMENT DESCRIBES SPDXRef-Program-two",
		"SPDXRef-Program-two DEPENDS_ON SPDXRef-Module-1",
		"SPDXRef-Program-two DEPENDS_ON SPDXRef-Module-3",
		"SPDXRef-Program-two DEPENDS_ON SPDXRef-Module-4",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s", strings.Join(got, "\n"))
	}
	if d.Name != "name.spdx.json" || d.DocumentNamespace != "https://example.org/v1/name.spdx.json" {
		t.Errorf("it is %s of %s", d.Name, d.DocumentNamespace)
	}
}

func TestRun_readsAProgram(t *testing.T) {
	var first, second bytes.Buffer
	arguments := []string{"https://example.org/v1/name.spdx.json", "v1.2.3", os.Args[0]}
	must.Succeed(t, run(arguments, "1700000000", &first))
	must.Succeed(t, run(arguments, "1700000000", &second))
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two runs differ")
	}
	var d document
	if err := json.Unmarshal(first.Bytes(), &d); err != nil || len(d.Packages) < 2 || d.Packages[0].Checksums[0].Value == "" {
		t.Errorf("%v\n%s", err, &first)
	}
	if got := d.CreationInfo.Created.Format(time.RFC3339); got != "2023-11-14T22:13:20Z" {
		t.Errorf("created %s", got)
	}
	for _, wrong := range []struct {
		arguments []string
		epoch     string
		want      string
	}{
		{arguments[:2], "0", "PROGRAM"},
		{arguments, "today", "SOURCE_DATE_EPOCH"},
		{[]string{"n", "v1", "main_test.go"}, "0", "main_test.go"},
	} {
		if err := run(wrong.arguments, wrong.epoch, &first); err == nil || !strings.Contains(err.Error(), wrong.want) {
			t.Errorf("%q: %v", wrong.arguments, err)
		}
	}
}
