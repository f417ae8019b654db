// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"kubi.zone/kubizone/pkg/cmd/client"
	"kubi.zone/kubizone/pkg/cmd/output"
	"kubi.zone/kubizone/test/must"
)

// readingRows are command lines that read, with the exit code of a server that answers. The words are those of
// hostileRows.
var readingRows = map[string]int{
	"apply -f RECORDS":                 0,
	"blame team/zone":                  0,
	"diff team/zone 5":                 1,
	"log team/zone":                    0,
	"revert team/zone --to 5 --plan":   0,
	"show team/zone@5":                 0,
	"doctor":                           1,
	"explain NameHeld":                 0,
	"explain S4":                       0,
	"explain S4.8":                     0,
	"export team/zone":                 0,
	"import ZONEFILE --zone team/zone": 1,
	"lint MANIFEST":                    1,
	"may create www.example.org TXT":   1,
	"names":                            0,
	"plan -f MANIFEST":                 1,
	"status":                           0,
	"tree nowhere.test":                1,
	"tree":                             0,
	"verify team/zone":                 1,
	"who 192.0.2.0/24":                 1,
	"who www.example.org":              0,
	"why 192.0.2.1 --resolver=none":    1,
	"why nowhere.example.org TXT --resolver=none": 1,
	"why record --resolver=none":                  1,
	"why www.example.org --resolver=none":         1,
	"why zone/zone --resolver=none":               1,
}

var colored = regexp.MustCompile("\x1b\\[(31|32|33|0)m")

// runOn runs kubectl kubizone on a screen.
func runOn(screen output.Screen, arguments ...string) (code int, out, stderr string) {
	var o, e bytes.Buffer
	code = client.Main(arguments, output.NewScreenWriter(&o, screen), output.NewScreenWriter(&e, screen))
	return code, o.String(), e.String()
}

// The table of commands × forms of -o × screens: exit codes, widths, colours and documents, with hostile data.
func TestClient_isOneGrammar(t *testing.T) {
	files, answers, refuses := writeHostile(t), serveHostile(t, false), serveHostile(t, true)
	results := client.Results()
	read := map[string]bool{}
	for row, want := range readingRows {
		read[strings.Fields(row)[0]] = true
		var arguments []string
		for _, word := range strings.Fields(row) {
			arguments = append(arguments, files.Replace(word))
		}
		offline := slices.Contains([]string{"explain", "lint"}, arguments[0])
		with := func(kubeconfig string, further ...string) []string {
			if !offline {
				further = append(further, "--kubeconfig", kubeconfig)
			}
			return slices.Concat(arguments, further)
		}
		for _, screen := range []output.Screen{{}, {Width: 80}, {Width: 120, Color: true}} {
			for _, form := range []string{"text", "wide", "json", "yaml"} {
				what := fmt.Sprintf("%s -o %s at %+v", row, form, screen)
				code, out, stderr := runOn(screen, with(answers, "-o", form)...)
				if code != want {
					t.Errorf("%s: exit code %d, want %d\n%s%s", what, code, want, out, stderr)
				}
				expectTame(t, colored.ReplaceAllString(out+stderr, ""))
				if !screen.Color && strings.Contains(out, "\x1b") {
					t.Errorf("%s: colours where nobody sees them:\n%s", what, out)
				}
				expectDocument(t, what, form, out, results)
				for line := range strings.Lines(colored.ReplaceAllString(out, "")) {
					isText := form == "text" && arguments[0] != "export" && arguments[0] != "show"
					if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); isText && screen.Width > 0 && n > screen.Width {
						t.Errorf("%s: a line of %d columns: %s", what, n, line)
					}
				}
			}
		}
		for _, wrong := range []string{"--output=table", "--no-such-flag"} {
			if code, out, stderr := runOn(output.Screen{}, with(answers, wrong)...); code != 2 || out != "" {
				t.Errorf("%s %s: exit code %d\n%s%s", row, wrong, code, out, stderr)
			}
		}
		if offline {
			continue
		}
		if code, out, stderr := runOn(output.Screen{}, with(refuses)...); code != 2 && !slices.Contains([]string{"apply", "doctor",
			"plan"}, arguments[0]) {
			t.Errorf("%s of a server that refuses: exit code %d\n%s%s", row, code, out, stderr)
		}
	}
	for _, command := range client.New().Commands() {
		if command.Flags().Lookup("output") != nil && !read[command.Name()] {
			t.Errorf("%s has -o: write a row for it into readingRows", command.Name())
		}
	}
}

// Every command that reads ends within its --request-timeout, with the next step, if the API does not answer.
func TestClient_endsWithoutAnAnswer(t *testing.T) {
	files := writeHostile(t)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see the client leave
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	kubeconfig := writeKubeconfig(t, silent.URL)
	for row := range readingRows {
		var arguments []string
		for _, word := range strings.Fields(row) {
			arguments = append(arguments, files.Replace(word))
		}
		if slices.Contains([]string{"doctor", "explain", "lint"}, arguments[0]) {
			continue
		}
		code, out, stderr := runOn(output.Screen{}, append(arguments, "--kubeconfig", kubeconfig, "--request-timeout=100ms")...)
		if code != 2 || !strings.Contains(stderr, "kubectl kubizone doctor finds the cause") {
			t.Errorf("%s: exit code %d\n%s%s", row, code, out, stderr)
		}
	}
}

// expectDocument requires a document of a kind that the release describes by a schema.
func expectDocument(t *testing.T, what, form, out string, results map[string]any) {
	t.Helper()
	var document struct {
		APIVersion string `json:"apiVersion" yaml:"apiVersion"`
		Kind       string `json:"kind" yaml:"kind"`
	}
	switch form {
	case "json":
		must.Succeed(t, json.Unmarshal([]byte(out), &document))
	case "yaml":
		must.Succeed(t, yaml.Unmarshal([]byte(out), &document))
	default:
		return
	}
	if strings.HasPrefix(what, "export") { // objects of the API
		return
	}
	if _, known := results[document.Kind]; document.APIVersion != output.Version || !known {
		t.Errorf("%s: a document of %q %q", what, document.APIVersion, document.Kind)
	}
}

// Ctrl-C ends every command, and a command that may write says what is done.
func TestClient_saysThatItWasInterrupted(t *testing.T) {
	files := writeHostile(t)
	for line, want := range map[string]string{
		"changes team/zone": "", "export team/zone": "", "may create www.example.org A": "", "names": "", "tree": "",
		"verify team/zone": "", "who www.example.org": "", "why record --resolver=none": "", "plan -f MANIFEST": "nothing was written",
		"import ZONEFILE --zone team/zone": "not imported", "apply -f RECORDS": "whether the change set was written is not known",
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		ended := make(chan struct{})
		api := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			interrupt()
			<-ended
		}))
		var arguments []string
		for _, word := range strings.Fields(line) {
			arguments = append(arguments, files.Replace(word))
		}
		root := client.New()
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs(append(arguments, "--kubeconfig", writeKubeconfig(t, api.URL)))
		if err := root.ExecuteContext(ctx); err == nil || !strings.Contains(out.String()+err.Error(), want) ||
			!strings.Contains(err.Error(), context.Canceled.Error()) {
			t.Errorf("%s: %v\n%s", line, err, out.String())
		}
		interrupt()
		close(ended)
		api.Close()
	}
}

// Each help has few flags, the exit codes, and lines that fit.
func TestClient_helpIsShort(t *testing.T) {
	eachCommand(client.New(), func(command *cobra.Command) {
		words := strings.Fields(strings.TrimPrefix(command.CommandPath(), "kubectl kubizone"))
		for _, width := range []int{80, 120} {
			code, out, _ := runOn(output.Screen{Width: width}, append(words, "--help")...)
			flags := regexp.MustCompile(`(?m)^ +(-\w, |    )--\w`).FindAllString(out, -1)
			if code != 0 || len(flags) > 14 || len(flags) == 0 || !strings.Contains(out, "\n  0  done, yes, or nothing to do\n") {
				t.Errorf("%s --help: exit code %d, %d flags\n%s", command.CommandPath(), code, len(flags), out)
			}
			for line := range strings.Lines(out) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%s --help: a line of %d columns: %s", command.CommandPath(), n, line)
				}
			}
		}
	})
	if _, out, _ := runOn(output.Screen{}, "options"); !strings.Contains(out, "--kubeconfig") || !strings.Contains(out, "-n, --namespace") {
		t.Errorf("options:\n%s", out)
	}
}
