// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
)

// A fault that repeats in thousands of lines is shown a few times, then counted (L2).
func TestLoad_groupsWhatIsRefused(t *testing.T) {
	var text strings.Builder
	text.WriteString(file)
	for i := range 2000 {
		fmt.Fprintf(&text, "h%d A 192.0.2.%d\n", i, 300+i)
		fmt.Fprintf(&text, "h%d.example.net. A 192.0.2.1\n", i)
	}
	text.WriteString("\x1b]0;title\x07 A 192.0.2.1\nx TXT \"\x1b[31m\xff\" (\n")
	path := writeFile(t, filepath.Join(t.TempDir(), "example.org.zone"), text.String())
	l := newLab(t, fake.NewSimpleClientset())
	if got := l.loadPath(t, path); got != (Result{Written: 5, Refused: 4002}) {
		t.Errorf("load: %+v", got)
	}
	if len(l.messages) > 20 {
		t.Errorf("%d lines for three kinds of refusals", len(l.messages))
	}
	for _, want := range []string{"refused: 1995 more like " + path + ":8: ", "refused: 1995 more like " + path + ":9: h0.example.net."} {
		if !l.hasReceived(want) {
			t.Errorf("no line says %q", want)
		}
	}
}

// The report of refusals has a bounded length: a few lines for each kind of refusal, and a bounded number of kinds.
// Each line of a file in a foreign format would otherwise be a kind of its own.
func TestReports_areBounded(t *testing.T) {
	var p reports
	shown := 0
	for i := range 1000 {
		for range 2 * maxAlike {
			if p.shouldShow("refused", Refusal{Path: "f", Reason: strings.Repeat("x", i)}) {
				shown++
			}
		}
	}
	rest := p.takeHidden()
	if shown != maxKinds*maxAlike || len(rest) != maxKinds+1 || rest[maxKinds] != fmt.Sprintf("and %d more for other reasons; mend those above and try again", (1000-maxKinds)*2*maxAlike) {
		t.Errorf("%d shown, the rest %q", shown, rest)
	}
	if len(p.takeHidden()) > 0 {
		t.Error("it is said again")
	}
}
