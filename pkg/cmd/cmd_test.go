// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	semver "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/version"
	"kubi.zone/kubizone/test/must"
)

func runCommand(arguments ...string) (code int, out, stderr string) {
	var o, e bytes.Buffer
	code = Main(arguments, &o, &e)
	return code, o.String(), e.String()
}

func TestMain_printsVersionAndHelp(t *testing.T) {
	code, out, _ := runCommand("version")
	if code != 0 || !strings.HasPrefix(out, "kubizone v"+version.Number()+" ") {
		t.Errorf("version: %d %q", code, out)
	}
	if code, flag, _ := runCommand("--version"); code != 0 || flag != out {
		t.Errorf("--version: %d %q, want %q", code, flag, out)
	}
	code, out, _ = runCommand()
	if code != 0 || !strings.Contains(out, "up ") || !strings.Contains(out, "version ") {
		t.Errorf("help: %d %q", code, out)
	}
}

// docs/README.md lists every command.
func TestMain_everyCommandIsInTheIndex(t *testing.T) {
	readme := must.Get(os.ReadFile("../../docs/README.md"))(t)
	_, table, _ := strings.Cut(string(readme), "\n| command | does |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	known := 0
	for _, command := range New().Commands() {
		if command.Hidden || slices.Contains([]string{"completion", "help", "version"}, command.Name()) {
			continue
		}
		known++
		if !regexp.MustCompile("`(kubizone )?" + command.Name() + "[ `]").MatchString(table) {
			t.Errorf("docs/README.md: its table of commands has no row for kubizone %s", command.Name())
		}
	}
	if known < 8 {
		t.Errorf("only %d commands found", known)
	}
}

// Updaters compare versions: the predecessor was v0.1 to v0.4, and the image has the same version everywhere.
func TestVersion_isOneEverywhere(t *testing.T) {
	next, unreleased := strings.CutSuffix(version.Number(), "-dev")
	if !unreleased || semver.MustParseSemantic(next).LessThan(semver.MustParseSemantic("0.5.0")) {
		t.Errorf("version %s is not one of development after the predecessor's", version.Number())
	}
	named := regexp.MustCompile(`(?:kubizone:|newTag: )(v[0-9][0-9A-Za-z.+-]*)`)
	places := 0
	for _, root := range []string{"../../artifacts", "../../docs", "../../README.md"} {
		must.Succeed(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, match := range named.FindAllStringSubmatch(string(text), -1) {
				if places++; match[1] != "v"+next {
					t.Errorf("%s names %s, and this becomes v%s", path, match[1], next)
				}
			}
			return nil
		}))
	}
	if places == 0 {
		t.Error("no place names a version")
	}
}

// C2
func TestMain_saysAnErrorOnceWithoutUsage(t *testing.T) {
	for _, tc := range []struct {
		arguments []string
		next      string
	}{
		{[]string{"up", "--listen", "nowhere"}, "write an address and a port"},
		{[]string{"up", "stray"}, `"stray" is not a flag; kubizone up --help lists them`},
		{[]string{"export"}, "kubizone export needs exactly one argument: ZONE (given: 0); kubizone export --help says more"},
		{[]string{"import"}, "kubizone import needs arguments: FILE"},
		{[]string{"down"}, `unknown command "down" for "kubizone"; kubizone --help lists the commands`},
		{[]string{"imprt"}, `unknown command "imprt" for "kubizone"; did you mean import? kubizone --help lists the commands`},
		{[]string{"up", "--no-such-flag"}, "unknown flag: --no-such-flag; kubizone up --help lists the flags"},
		{[]string{"up", "--dat-dir", "x"}, "unknown flag: --dat-dir; did you mean --data-dir? kubizone up --help lists the flags"},
		{[]string{"--no-such-flag"}, "kubizone --help lists the flags"},
		{[]string{"export", "zone", "--kubeconfig", "/no/such/file"}, "--kubeconfig: "},
	} {
		arguments := tc.arguments
		code, out, errors := runCommand(arguments...)
		if !strings.Contains(errors, tc.next) {
			t.Errorf("%v: %q has no next step %q", arguments, errors, tc.next)
		}
		if code != 2 || out != "" || !strings.HasPrefix(errors, "kubizone: ") || strings.Contains(errors, "Usage:") || strings.Count(errors, "kubizone: ") != 1 {
			t.Errorf("%v: %d %q %q", arguments, code, out, errors)
		}
	}
}

// C2: exit code 1 is an answer, 2 is a failure.
func TestMain_distinguishesAnAnswerFromNone(t *testing.T) {
	if code, out, errors := runCommand("fsck", "--data-dir", t.TempDir()); code != 2 {
		t.Errorf("fsck of nothing: %d %q %q", code, out, errors)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(`{"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c"}}],
		"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{{"doctor"}, {"verify", "a/b"}, {"import", "--zone", "a/b", "../../test/testdata/root-2018031200.zone"}} {
		if code, out, errors := runCommand(append(arguments, "--kubeconfig", kubeconfig)...); code != 2 {
			t.Errorf("%v where nobody listens: %d %q %q", arguments, code, out, errors)
		}
	}
}

func TestCompletion(t *testing.T) {
	for _, tc := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"export", "-o", ""}, "zonefile\nyaml\n:4\n"},
		{[]string{"import", ""}, ":0\n"}, // files, by the shell
		{[]string{"verify", "-o", ""}, "text\njson\n:4\n"},
		{[]string{"export", "--logging-format", ""}, "text\njson\n:4\n"},
	} {
		if code, out, _ := runCommand(append([]string{"__complete"}, tc.arguments...)...); code != 0 || out != tc.want {
			t.Errorf("%q: %d %q, want %q", tc.arguments, code, out, tc.want)
		}
	}
}

// C4
func TestLog_isQuietUnlessAsked(t *testing.T) {
	logOf := func(verbosity int) string {
		var to bytes.Buffer
		must.Succeed(t, setUpLog(&to, verbosity, logText))
		klog.Info("information")
		klog.V(2).Info("detail")
		klog.Warning("warning")
		klog.Error("error")
		klog.Flush()
		return to.String()
	}
	if got := logOf(0); strings.Contains(got, "information") || strings.Contains(got, "detail") || strings.Count(got, "warning\n") != 1 || strings.Count(got, "error\n") != 1 {
		t.Errorf("quiet:\n%s", got)
	}
	if got := logOf(2); strings.Count(got, "information\n") != 1 || strings.Count(got, "detail\n") != 1 || strings.Count(got, "warning\n") != 1 {
		t.Errorf("with -v=2:\n%s", got)
	}
}

// Each log line is a JSON object, from any call of klog. Verbosity is as in text.
func TestLog_isJSONWhereAsked(t *testing.T) {
	defer klog.ClearLogger()
	type line struct {
		TS                 float64
		Level, Caller, Msg string
		V                  *int
		Err, Zone          string
	}
	logOf := func(verbosity int) (lines []line) {
		var to bytes.Buffer
		must.Succeed(t, setUpLog(&to, verbosity, logJSON))
		klog.Info("information")
		klog.V(2).InfoS("detail", "zone", "example.org.")
		klog.FromContext(t.Context()).V(3).Info("further detail")
		klog.Warningf("warning %d\nof two lines", 1)
		slog.New(logr.ToSlogHandler(klog.Background())).Warn("warning of a delivery", "zone", "example.org.")
		klog.ErrorS(errors.New("broken"), "error", "zone", "example.org.")
		klog.Error("error without keys")
		klog.Flush()
		decoder := json.NewDecoder(&to)
		for decoder.More() {
			var one line
			must.Succeed(t, decoder.Decode(&one))
			if one.TS < 1e12 || !strings.Contains(one.Caller, "cmd_test.go:") {
				t.Errorf("%+v", one)
			}
			lines = append(lines, one)
		}
		return lines
	}
	texts := func(lines []line) (texts []string) {
		for _, one := range lines {
			texts = append(texts, one.Level+" "+one.Msg)
		}
		return texts
	}
	loud := []string{"warn warning 1\nof two lines", "warn warning of a delivery", "error error", "error error without keys"}
	quiet0 := logOf(0)
	if got := texts(quiet0); !slices.Equal(got, loud) {
		t.Errorf("quiet: %q", got)
	} else if quiet0[1].Zone != "example.org." || quiet0[2].Err != "broken" {
		t.Errorf("quiet: %+v", quiet0)
	}
	if got := texts(logOf(2)); !slices.Equal(got, append([]string{"info information", "info detail"}, loud...)) {
		t.Errorf("with -v=2: %q", got)
	}
	// The last line is JSON as well.
	for _, arguments := range [][]string{{"doctor", "now"}, {"export", "--none"}} {
		var last struct{ Level, Msg string }
		code, _, stderr := runCommand(append([]string{"--logging-format=json"}, arguments...)...)
		_, _, text := runCommand(arguments...)
		if json.Unmarshal([]byte(stderr), &last) != nil || code != exitFailed || last.Level != "error" || "kubizone: "+last.Msg+"\n" != text {
			t.Errorf("%q: %d %q, as text %q", arguments, code, stderr, text)
		}
	}
	if code, _, stderr := runCommand("version", "--logging-format", "xml"); code != exitFailed || stderr != "kubizone: --logging-format "+
		"\"xml\": write text or json\n" {
		t.Errorf("%d %q", code, stderr)
	}
}

// A call site that logs an error for each foreign request fills no log and hides no other call site (attack 107).
func TestLog_boundsTheLinesOfOnePlace(t *testing.T) {
	defer klog.ClearLogger()
	for _, format := range []string{logText, logJSON} {
		synctest.Test(t, func(t *testing.T) {
			var to bytes.Buffer
			must.Succeed(t, setUpLog(&to, 1, format))
			printf := func(path string) { klog.ErrorS(nil, "Timeout or abort", "path", path) }
			count := func(text string) int {
				klog.Flush()
				return strings.Count(to.String(), text)
			}
			for range 5000 {
				printf("/flood")
				klog.Info("information")
			}
			klog.Error("of another place")
			flood, other, all := count("/flood"), count("of another place"), count("information")
			if flood != placeBurst || other != 1 || all != 5000 {
				t.Errorf("%s: %d lines of the place, %d of another, %d of information", format, flood, other, all)
			}
			time.Sleep(placeInterval + time.Second)
			printf("/later")
			if format == logText && count("cmd_test.go:") != placeBurst+5000+3 || count("/later") != 1 {
				t.Errorf("%s: nothing more is logged", format)
			}
			if format == logText && count("] 4900 lines of this place are left out\n") != 1 {
				t.Errorf("nothing says that lines are missing")
			}
		})
	}
}

// Started as a kubectl plugin, the command names itself as the user types it and completes for kubectl; other names
// change nothing.
func TestAdaptToName_isThePluginOfKubectl(t *testing.T) {
	for started, want := range map[string]string{
		"/bin/kubizone": "kubizone may", "kubectl-kubizone": "kubectl kubizone may", "C/kubectl-kubizone.exe": "kubectl kubizone may",
		"/krew/kubectl_complete-kubizone": "__complete kubizone may",
	} {
		root := New()
		arguments := adaptToName(root, started, []string{"may"})
		command, _, err := root.Find([]string{"may"})
		got := strings.Join(append(arguments[:len(arguments)-1:len(arguments)-1], command.CommandPath()), " ")
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", started, got, err, want)
		}
	}
}
