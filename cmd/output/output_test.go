// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"kubi.zone/kubizone/pkg/kit/terminal"
	"kubi.zone/kubizone/test/must"
)

// On a terminal, text is wrapped at spaces, and within a word that is too long. In a pipe the lines stay whole, so that
// other programs can read them (T1).
func TestText_fitsTheWidth_T1(t *testing.T) {
	write := func(width int) string {
		var out bytes.Buffer
		text := NewText(NewScreenWriter(&out, Screen{Width: width}))
		text.Line("refused: one two three %s", strings.Repeat("x", 30))
		text.Table([]string{"NAME", "DATA"}, [][]string{{"www.example.org.", strings.Repeat("10 mail.example.org. ", 3)}, {"a"}})
		must.Get(text.WriteTo(&out))(t)
		return out.String()
	}
	const narrow = `refused: one two
  three
  xxxxxxxxxxxxxxxxxx
  xxxxxxxxxxxx
NAME       DATA
www.examp  10
le.org.    mail.exam
           ple.org.
           10
           mail.exam
           ple.org.
           10
           mail.exam
           ple.org.
a
`
	if got := write(20); got != narrow {
		t.Errorf("%s\nwant\n%s", got, narrow)
	}
	for line := range strings.Lines(write(0)) {
		if n := len(line); n > 2 && n < 23 {
			t.Errorf("in a pipe, a line of %d octets: %s", n, line)
		}
	}
}

// Lines of standard error fit too. A pipe gets them whole.
func TestRemarks_fitTheWidth_T1(t *testing.T) {
	for _, test := range []struct {
		width      int
		text, want string
	}{
		{0, "error: the zone has no rule\n", "error: the zone has no rule\n"},
		{20, "error: the zone has no rule\nshort\nDelete 3 Records? ", "error: the zone has\n  no rule\nshort\nDelete 3 Records? "},
		{20, "a\ttable\thas\tits\tcolumns and more\n", "a\ttable\thas\tits\tcolumns and more\n"},
		{20, "\x1b[31m and a few words\n", "\\u001b[31m and a few\n  words\n"},
	} {
		var out bytes.Buffer
		n, err := NewRemarks(NewScreenWriter(&out, Screen{Width: test.width})).Write([]byte(test.text))
		if out.String() != test.want || n != len(test.text) || err != nil {
			t.Errorf("width %d: %q, %d, %v; want %q", test.width, out.String(), n, err, test.want)
		}
	}
}

// T2
func TestText_hasColourOnATerminalOnly_T2(t *testing.T) {
	var out bytes.Buffer
	screen := NewScreenWriter(&out, Screen{Width: 80, Color: true})
	text := NewText(screen)
	text.Line("+ www.example.org. TXT %s", "\x1b[31mred")
	text.Line("error: broken")
	must.Get(text.WriteTo(screen))(t)
	if want := "\x1b[32m+ www.example.org. TXT \\u001b[31mred\x1b[0m\n\x1b[31merror:\x1b[0m broken\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	text = NewText(&out)
	if text.Line("+ www"); strings.Contains(text.built.String(), "\x1b") {
		t.Errorf("in a pipe: %q", text.built.String())
	}
}

// T3
func TestFormat_printsDocuments_T3(t *testing.T) {
	result := struct {
		Text string   `json:"text"`
		List []string `json:"list"`
	}{"a: \x1b[1m", []string{"true", "1"}}
	for form, want := range map[string]string{
		JSON: `{
  "apiVersion": "client.kubi.zone/v1alpha1",
  "kind": "Thing",
  "text": "a: \u001b[1m",
  "list": [
    "true",
    "1"
  ]
}
`,
		YAML: `apiVersion: client.kubi.zone/v1alpha1
kind: Thing
text: "a: \e[1m"
list:
- "true"
- "1"
`,
	} {
		var out bytes.Buffer
		command := &cobra.Command{RunE: func(*cobra.Command, []string) error { return nil }}
		format := AddFormat(command)
		command.SetArgs([]string{"-o", form})
		must.Succeed(t, command.Execute())
		must.Succeed(t, format.Print(NewWriter(&out), "Thing", result, nil))
		if out.String() != want {
			t.Errorf("%s: %s\nwant\n%s", form, out.String(), want)
		}
	}
}

// A progress bar appears on a terminal after two seconds, so that quick commands show none. In a pipe it never appears
// (T4).
func TestBar_appearsAfterTwoSeconds_T4(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		for _, screen := range []Screen{{}, {Width: 60}} {
			bar := StartBar(NewScreenWriter(&out, screen), "writing \x1b")
			time.Sleep(barDelay - time.Millisecond)
			synctest.Wait()
			if out.Len() > 0 {
				t.Errorf("too early: %q", out.String())
			}
			bar.Set(3, 10) // its lock orders the read above before the bar's write, as no sleep does
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
			bar.End()
		}
		if want := "\rwriting \\u001b [#########                     ] 3 of 10, 2s\x1b[K\r\x1b[K"; out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	})
}

// Without a terminal many objects are deleted with --yes alone.
func TestConsent_asksBeforeMany(t *testing.T) {
	var c Consent
	const refused = "Delete 11 Records? There is no terminal to ask at"
	for number, want := range map[int]string{1: "", maxUnasked: "", maxUnasked + 1: refused} {
		err := c.Ask(strings.NewReader("yes\n"), &bytes.Buffer{}, number, "Records")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", number, err)
		}
	}
	if c.yes = true; c.Ask(nil, nil, 1000, "Records") != nil {
		t.Error("--yes is asked")
	}
}

// YAML survives the terminal's escapes.
func TestEncodeYAML_keepsWhatTheTerminalEscapes(t *testing.T) {
	for _, text := range []string{
		"plain", "right\u202eleft", "a\u200b: b", "zero\ufeff", "esc\x1b[31m", "two\nlines\u2066", "tab\there", "\U000e0041",
	} {
		var out bytes.Buffer
		var document yaml.Node
		must.Succeed(t, document.Encode(map[string]any{"description": text, text: "key"}))
		must.Succeed(t, EncodeYAML(terminal.NewWriter(&out), &document))
		var got map[string]string
		if err := yaml.Unmarshal(out.Bytes(), &got); err != nil || got["description"] != text || got[text] != "key" {
			t.Errorf("%q: %q, %v of %s", text, got, err, out.String())
		}
	}
}
