// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/test/must"
)

// A fault in thousands of lines is shown a few times, then counted (L2).
func TestLoad_groupsWhatIsRefused(t *testing.T) {
	var text strings.Builder
	text.WriteString(file)
	for i := range 2000 {
		fmt.Fprintf(&text, "h%d A 192.0.2.%d\n", i, 300+i)
		fmt.Fprintf(&text, "h%d.example.net. A 192.0.2.1\n", i)
	}
	text.WriteString("\x1b]0;title\x07 A 192.0.2.1\nx TXT \"\x1b[31m\xff\" (\n")
	path := must.WriteFile(t, filepath.Join(t.TempDir(), "example.org.zone"), text.String())
	l := newLab(t, fake.NewSimpleClientset())
	if got := l.loadPath(t, path); got != (Result{Written: 5, Refused: 4002}) {
		t.Errorf("load: %+v", got)
	}
	if len(l.messages) > maxShown+5 {
		t.Errorf("%d lines for 4002 refusals", len(l.messages))
	}
	if want := fmt.Sprintf("refused: %s: %d more; mend those above and try again", path, 4002-maxShown); !l.hasReceived(want) {
		t.Errorf("no line says %q", want)
	}
}
