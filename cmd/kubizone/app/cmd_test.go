// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	semver "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/cmd/kubeconfig"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/client"
	"kubi.zone/kubizone/pkg/kit/version"
	"kubi.zone/kubizone/test/must"
)

func runCommand(arguments ...string) (code int, out, stderr string) {
	var o, e bytes.Buffer
	code = Main(arguments, &o, &e)
	return code, o.String(), e.String()
}

func runClient(arguments ...string) (code int, out, stderr string) {
	var o, e bytes.Buffer
	code = client.Main(arguments, &o, &e)
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

func TestMain_everyCommandIsInTheIndex(t *testing.T) {
	readme := must.Get(os.ReadFile("../../../docs/README.md"))(t)
	_, table, _ := strings.Cut(string(readme), "\n| command | does |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	known := 0
	for _, command := range slices.Concat(New().Commands(), client.New().Commands()) {
		if command.Hidden || slices.Contains([]string{"completion", "help", "options", "version"}, command.Name()) {
			continue
		}
		known++
		if !regexp.MustCompile("`(" + command.Root().CommandPath() + " )?" + command.Name() + "[ `]").MatchString(table) {
			t.Errorf("docs/README.md: its table of commands has no row for %s", command.CommandPath())
		}
	}
	if known < 20 {
		t.Errorf("only %d commands found", known)
	}
}

// Tools that update images compare versions, and a predecessor of this program has been published as v0.1 to v0.4. So
// the version is at least 0.5.0, and manifests, pages and README all name the same one.
func TestVersion_isOneEverywhere(t *testing.T) {
	next, unreleased := strings.CutSuffix(version.Number(), "-dev")
	if !unreleased || semver.MustParseSemantic(next).LessThan(semver.MustParseSemantic("0.5.0")) {
		t.Errorf("version %s is not one of development after the predecessor's", version.Number())
	}
	named := regexp.MustCompile(`(?:kubizone:|newTag: )(v[0-9][0-9A-Za-z.+-]*)`)
	places := 0
	for _, root := range []string{"../../../artifacts", "../../../docs", "../../../README.md"} {
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

// P2
func TestMain_saysAnErrorOnceWithoutUsage(t *testing.T) {
	for _, tc := range []struct {
		arguments []string
		next      string
	}{
		{[]string{"up", "--listen", "nowhere"}, "write an address and a port"},
		{[]string{"up", "stray"}, `"stray" is not a flag; kubizone up --help lists them`},
		{[]string{"replace-member"}, "kubizone replace-member needs exactly one argument: NAME"},
		{[]string{"backup"}, "kubizone backup needs exactly one argument: OUT (given: 0); kubizone backup --help says more"},
		{[]string{"down"}, `unknown command "down" for "kubizone"; kubizone --help lists the commands`},
		{[]string{"restor"}, `unknown command "restor" for "kubizone"; did you mean restore? kubizone --help lists the commands`},
		{[]string{"up", "--no-such-flag"}, "unknown flag: --no-such-flag; kubizone up --help lists the flags"},
		{[]string{"up", "--dat-dir", "x"}, "unknown flag: --dat-dir; did you mean --data-dir? kubizone up --help lists the flags"},
		{[]string{"--no-such-flag"}, "kubizone --help lists the flags"},
		{[]string{"verify", "a/b", "-o", "json", "it's"}, `type: kubectl kubizone verify a/b -o json 'it'\''s'`},
		{[]string{"why"}, "why is a command of the client; type: kubectl kubizone why"},
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

// The client names itself as the user types it.
func TestClient_saysAnErrorOnceWithoutUsage(t *testing.T) {
	for _, tc := range []struct {
		arguments []string
		next      string
	}{
		{[]string{"export"}, "export needs exactly one argument: ZONE (given: 0); kubectl kubizone export --help says more"},
		{[]string{"import"}, "kubectl kubizone import needs arguments: FILE"},
		{[]string{"updatekey", "create"}, "kubectl kubizone updatekey create needs exactly one argument: NAME (given: 0)"},
		{[]string{"updatekey", "list"}, `unknown command "list" for "kubectl kubizone updatekey"; kubectl kubizone updatekey --help lists`},
		{[]string{"imprt"}, `"imprt" for "kubectl kubizone"; did you mean import? kubectl kubizone --help lists the commands`},
		{[]string{"export", "zone", "--kubeconfig", "/no/such/file"}, "--kubeconfig: "},
	} {
		code, out, errors := runClient(tc.arguments...)
		if code != 2 || out != "" || !strings.HasPrefix(errors, "error: ") || !strings.Contains(errors, tc.next) ||
			strings.Count(errors, "error: ") != 1 {
			t.Errorf("%v: %d %q %q", tc.arguments, code, out, errors)
		}
	}
}

// Scripts pass one set of flags to all commands of the client: each takes those that "options" lists, also where it
// has no use for them.
func TestClient_everyCommandTakesTheFlagsOfAKubeconfig(t *testing.T) {
	shared := pflag.NewFlagSet("", pflag.ContinueOnError)
	kubeconfig.NewOptions().AddFlagsWithNamespace(shared)
	known := 0
	eachCommand(client.New(), func(command *cobra.Command) {
		if !command.Runnable() {
			return
		}
		known++
		shared.VisitAll(func(flag *pflag.Flag) {
			if command.Flags().Lookup(flag.Name) == nil {
				t.Errorf("%s has no --%s", command.CommandPath(), flag.Name)
			}
		})
	})
	if known < 20 {
		t.Errorf("%d commands", known)
	}
	for _, line := range []string{"explain S4.8", "version", "options", "lint testdata/none.yaml"} {
		code, out, errors := runClient(append(strings.Fields(line), "--kubeconfig", "/no/such/file", "-n", "team", "--context", "c")...)
		wrong := strings.HasPrefix(line, "lint")
		if (code != 0) != wrong || strings.Contains(errors, "unknown flag") || (out == "") != wrong {
			t.Errorf("%s: %d %q %q", line, code, out, errors)
		}
	}
}

// kubizone knows each word of the client, and no other.
func TestMain_redirectsTheWordsOfTheClient(t *testing.T) {
	var words []string
	for _, command := range client.New().Commands() {
		if name := command.Name(); name != "version" && name != "options" {
			words = append(words, name)
		}
	}
	if slices.Sort(words); !slices.Equal(words, clientWords) {
		t.Errorf("the client has %q, kubizone redirects %q", words, clientWords)
	}
}

// Scripts tell results apart by the exit code: 1 is an answer, such as a difference that was found, and 2 means that
// the command could not find out (P2).
func TestMain_distinguishesAnAnswerFromNone(t *testing.T) {
	if code, out, errors := runCommand("fsck", "--data-dir", t.TempDir()); code != 2 {
		t.Errorf("fsck of nothing: %d %q %q", code, out, errors)
	}
	kubeconfig := must.WriteKubeconfig(t, "https://127.0.0.1:1")
	for _, arguments := range [][]string{{"doctor"}, {"verify", "a/b"}, {"import", "--zone", "a/b", "../../../test/testdata/root-2018031200.zone"}} {
		if code, out, errors := runClient(append(arguments, "--kubeconfig", kubeconfig)...); code != 2 {
			t.Errorf("%v where nobody listens: %d %q %q", arguments, code, out, errors)
		}
	}
}

func TestCompletion(t *testing.T) {
	for _, tc := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"export", "-o", ""}, "text\nwide\njson\nyaml\nzonefile\n:4\n"},
		{[]string{"import", ""}, ":0\n"}, // files, by the shell
		{[]string{"verify", "-o", ""}, "text\nwide\njson\nyaml\nmarkdown\n:4\n"},
	} {
		if code, out, _ := runClient(append([]string{"__complete"}, tc.arguments...)...); code != 0 || out != tc.want {
			t.Errorf("%q: %d %q, want %q", tc.arguments, code, out, tc.want)
		}
	}
}

func TestMain_saysAnErrorAsJSONWhereAsked(t *testing.T) {
	defer klog.ClearLogger()
	for _, arguments := range [][]string{{"fsck", "now"}, {"backup", "--none"}} {
		var last struct{ Level, Msg string }
		code, _, stderr := runCommand(append([]string{"--logging-format=json"}, arguments...)...)
		_, _, text := runCommand(arguments...)
		if json.Unmarshal([]byte(stderr), &last) != nil || code != 2 || last.Level != "error" || "kubizone: "+last.Msg+"\n" != text {
			t.Errorf("%q: %d %q, as text %q", arguments, code, stderr, text)
		}
	}
	if code, _, stderr := runCommand("version", "--logging-format", "xml"); code != 2 || stderr != "kubizone: --logging-format "+
		"\"xml\": write text or json\n" {
		t.Errorf("%d %q", code, stderr)
	}
}

// A controller trusts public CAs in an image without files.
func TestRoots_areThereWithoutASystem(t *testing.T) {
	if os.Getenv("SSL_CERT_FILE") != "/nonexistent" {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		again.Env = append(os.Environ(), "SSL_CERT_FILE=/nonexistent", "SSL_CERT_DIR=/nonexistent")
		if out, err := again.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	roots, err := x509.SystemCertPool()
	if err != nil || roots.Equal(x509.NewCertPool()) {
		t.Errorf("there are no roots: %v", err)
	}
}
