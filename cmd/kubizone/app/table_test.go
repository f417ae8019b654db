// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package app

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

	"kubi.zone/kubizone/cmd/kubectl-kubizone/client"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/test/must"
)

// clientRows are command lines of every command, with the exit code of a server that answers. The words are those of
// hostileRows.
var clientRows = map[string]int{
	"apply -f RECORDS":                   0,
	"blame team/zone":                    0,
	"completion bash":                    0,
	"completion fish":                    0,
	"completion powershell":              0,
	"completion zsh":                     0,
	"console --port HOSTILE":             2,
	"diff team/zone 5":                   1,
	"doctor":                             1,
	"explain NameHeld":                   0,
	"explain S4":                         0,
	"explain S4.8":                       0,
	"export team/zone":                   0,
	"help who":                           0,
	"import ZONEFILE --zone team/zone":   1,
	"lint MANIFEST":                      1,
	"log team/zone":                      0,
	"may create www.example.org TXT":     1,
	"names":                              0,
	"options":                            0,
	"plan -f MANIFEST":                   1,
	"revert team/zone --to 5 --plan":     0,
	"review -f MANIFEST":                 1,
	"review -f RECORDS --without-server": 1,
	"show team/zone@5":                   0,
	"status":                             0,
	"tree nowhere.test":                  1,
	"tree":                               0,
	"updatekey create key":               0,
	"updatekey show key":                 2,
	"updatekey show plain":               0,
	"verify team/zone":                   1,
	"version":                            0,
	"who 192.0.2.0/24":                   1,
	"who www.example.org":                0,
	"why 192.0.2.1 --resolver=none":      1,
	"why nowhere.example.org TXT --resolver=none": 1,
	"why record --resolver=none":                  1,
	"why www.example.org --resolver=none":         1,
	"why zone/zone --resolver=none":               1,
}

type clientLine struct {
	row       string
	command   *cobra.Command
	arguments []string
	// offline is true without requests to the API. exact is true for output that no width may change: zone files,
	// Markdown and scripts.
	offline, exact bool
}

// listClient returns all rows, and fails for a command without one.
func listClient(t *testing.T, files *strings.Replacer) (lines []clientLine) {
	t.Helper()
	missing := map[*cobra.Command]bool{}
	root := newClient()
	eachCommand(root, func(command *cobra.Command) {
		if command.RunE != nil || command.Run != nil {
			missing[command] = command != root // its page of help
		}
	})
	for row := range clientRows {
		line := clientLine{row: row}
		for _, word := range strings.Fields(row) {
			line.arguments = append(line.arguments, files.Replace(word))
		}
		command, _, err := root.Find(line.arguments)
		must.Succeed(t, err)
		if _, known := missing[command]; !known {
			t.Errorf("%s: a row of no command", row)
		}
		line.command, missing[command] = command, false
		line.offline = slices.Contains([]string{"console", "explain", "help", "lint", "options", "version"}, command.Name()) ||
			command.HasParent() && command.Parent().Name() == "completion" || strings.HasSuffix(row, "--without-server")
		line.exact = slices.Contains([]string{"export", "review", "show", "bash", "fish", "powershell", "zsh"}, command.Name())
		lines = append(lines, line)
	}
	for command, is := range missing {
		if is && !command.HasSubCommands() {
			t.Errorf("%s: write a row for it into clientRows", command.CommandPath())
		}
	}
	return lines
}

func newClient() *cobra.Command {
	root := client.New()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return root
}

var colored = regexp.MustCompile("\x1b\\[(31|32|33|0)m")

func runOn(screen output.Screen, arguments ...string) (code int, out, stderr string) {
	var o, e bytes.Buffer
	code = client.Main(arguments, output.NewScreenWriter(&o, screen), output.NewScreenWriter(&e, screen))
	return code, o.String(), e.String()
}

// The table of commands × forms of -o × screens: exit codes, widths, colours and documents, with hostile data.
func TestClient_isOneGrammar(t *testing.T) {
	files, answers, refuses := writeHostile(t), serveHostile(t, false), serveHostile(t, true)
	results := client.Results()
	for _, line := range listClient(t, files) {
		want := clientRows[line.row]
		with := func(kubeconfig string, further ...string) []string {
			if !line.offline {
				further = append(further, "--kubeconfig", kubeconfig)
			}
			return slices.Concat(line.arguments, further)
		}
		forms := []string{""}
		if line.command.Flags().Lookup("output") != nil {
			forms = []string{"text", "wide", "json", "yaml"}
		}
		for _, screen := range []output.Screen{{}, {Width: 80}, {Width: 120, Color: true}} {
			for _, form := range forms {
				what := fmt.Sprintf("%s -o %s at %+v", line.row, form, screen)
				var of []string
				if form != "" {
					of = []string{"-o", form}
				}
				code, out, stderr := runOn(screen, with(answers, of...)...)
				if code != want {
					t.Errorf("%s: exit code %d, want %d\n%s%s", what, code, want, out, stderr)
				}
				expectTame(t, colored.ReplaceAllString(out+stderr, ""))
				if !screen.Color && strings.Contains(out+stderr, "\x1b") {
					t.Errorf("%s: colours where nobody sees them:\n%s", what, out+stderr)
				}
				if code != 2 {
					expectDocument(t, what, form, out, results)
				}
				if (form == "" || form == "text") && !line.exact {
					expectWidth(t, what, screen.Width, out)
				}
				expectWidth(t, what, screen.Width, stderr)
			}
		}
		for _, wrong := range []string{"--output=table", "--no-such-flag"} {
			if code, out, stderr := runOn(output.Screen{}, with(answers, wrong)...); code != 2 || out != "" {
				t.Errorf("%s %s: exit code %d\n%s%s", line.row, wrong, code, out, stderr)
			}
		}
		if line.offline {
			continue
		}
		if code, out, stderr := runOn(output.Screen{}, with(refuses)...); code != 2 && !slices.Contains([]string{"apply", "doctor",
			"plan", "review"}, line.command.Name()) {
			t.Errorf("%s of a server that refuses: exit code %d\n%s%s", line.row, code, out, stderr)
		}
	}
}

func expectWidth(t *testing.T, what string, width int, text string) {
	t.Helper()
	for line := range strings.Lines(colored.ReplaceAllString(text, "")) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > 0 && n > width {
			t.Errorf("%s: a line of %d columns: %s", what, n, line)
		}
	}
}

// If the API accepts a request and never answers, every command ends at its --request-timeout, and refers the user to
// `kubectl kubizone doctor`.
func TestClient_endsWithoutAnAnswer(t *testing.T) {
	files := writeHostile(t)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see the client leave
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	kubeconfig := must.WriteKubeconfig(t, silent.URL)
	for _, line := range listClient(t, files) {
		if line.offline || line.command.Name() == "doctor" {
			continue
		}
		code, out, stderr := runOn(output.Screen{}, append(line.arguments, "--kubeconfig", kubeconfig, "--request-timeout=100ms")...)
		if code != 2 || !strings.Contains(stderr, "kubectl kubizone doctor finds the cause") {
			t.Errorf("%s: exit code %d\n%s%s", line.row, code, out, stderr)
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

// Ctrl-C ends every command that waits for the API. A command that may write then says whether something was written,
// or that this is not known.
func TestClient_saysThatItWasInterrupted(t *testing.T) {
	files := writeHostile(t)
	wants := map[string]string{"plan": "nothing was written", "import": "not imported",
		"apply": "whether the change set was written is not known"}
	for _, line := range listClient(t, files) {
		if line.offline {
			continue
		}
		ctx, interrupt := context.WithCancel(t.Context())
		ended := make(chan struct{})
		api := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			interrupt()
			<-ended
		}))
		root := client.New()
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs(append(line.arguments, "--kubeconfig", must.WriteKubeconfig(t, api.URL)))
		if err := root.ExecuteContext(ctx); err == nil || !strings.Contains(out.String()+err.Error(), wants[line.command.Name()]) ||
			!strings.Contains(out.String()+err.Error(), context.Canceled.Error()) {
			t.Errorf("%s: %v\n%s", line.row, err, out.String())
		}
		interrupt()
		close(ended)
		api.Close()
	}
}

const exitCodes = `Exit codes:
  0  done, yes, or nothing to do
  1  the answer is no, there are differences, or something was refused
  2  could not
`

// endingWriter is an output whose first line is followed by Ctrl-C.
type endingWriter struct {
	bytes.Buffer
	interrupt func()
}

func (w *endingWriter) Write(octets []byte) (int, error) {
	defer w.interrupt()
	return w.Buffer.Write(octets)
}

// The console runs until Ctrl-C, which is no error.
func TestClient_endsTheConsole(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out := &endingWriter{interrupt: interrupt}
	root := client.New()
	root.SetOut(out)
	root.SetErr(out)
	root.SetArgs([]string{"console", "--no-browser", "--kubeconfig", serveHostile(t, false)})
	if err := root.ExecuteContext(ctx); err != nil || out.Len() == 0 {
		t.Errorf("%v\n%s", err, out.String())
	}
}

var brokenLine = regexp.MustCompile(` \\\n +`)

// The help of each command fits the terminal, lists at most 14 flags of its own, keeps the examples valid for a shell,
// and ends with the exit codes.
func TestClient_helpIsShort(t *testing.T) {
	eachCommand(newClient(), func(command *cobra.Command) {
		words := strings.Fields(strings.TrimPrefix(command.CommandPath(), "kubectl kubizone"))
		for _, width := range []int{80, 120} {
			code, out, _ := runOn(output.Screen{Width: width}, append(words, "--help")...)
			flags := regexp.MustCompile(`(?m)^ +(-\w, |    )--\w`).FindAllString(out, -1)
			if code != 0 || len(flags) > 14 || len(flags) == 0 ||
				!strings.HasSuffix(out, "\n"+exitCodes) {
				t.Errorf("%s --help: exit code %d, %d flags\n%s", command.CommandPath(), code, len(flags), out)
			}
			_, examples, _ := strings.Cut(out, "Examples:\n")
			examples, _, _ = strings.Cut(examples, "\n\n")
			if joined := brokenLine.ReplaceAllString(examples, " "); strings.Join(strings.Fields(joined), " ") !=
				strings.Join(strings.Fields(command.Example), " ") || strings.Count(joined, "\n") != strings.Count(command.Example, "\n") {
				t.Errorf("%s --help: a shell does not take the examples:\n%s", command.CommandPath(), examples)
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
