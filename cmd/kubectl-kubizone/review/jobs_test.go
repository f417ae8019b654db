// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubizone/up"
	"kubi.zone/kubizone/pkg/kit/version"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/standalone"
)

const artifacts = "../../../artifacts/ci/"

// job runs the steps of artifacts/ci as the forge's runner does.
type job struct {
	*standIn
	// client is the directory of the client, kubeconfig a file, or "".
	client, kubeconfig string
	releases           string
}

var expression = regexp.MustCompile(`\$\{\{ *([a-z0-9.-]+) *\}\}`)

type step struct {
	Shell string            `json:"shell"`
	Env   map[string]string `json:"env"`
	Run   string            `json:"run"`
}

func (j *job) runAction(t *testing.T, inputs, more map[string]string) (out string, code int) {
	t.Helper()
	var action struct {
		Inputs map[string]struct {
			Required bool   `json:"required"`
			Default  string `json:"default"`
		} `json:"inputs"`
		Runs struct {
			Using string `json:"using"`
			Steps []step `json:"steps"`
		} `json:"runs"`
	}
	must.Succeed(t, yaml.Unmarshal(must.Get(os.ReadFile(artifacts+"github/action.yml"))(t), &action))
	values := map[string]string{"github.token": more["GITHUB_TOKEN"]}
	resolve := func(text string) string {
		return expression.ReplaceAllStringFunc(text, func(found string) string {
			value, known := values[expression.FindStringSubmatch(found)[1]]
			if !known {
				t.Errorf("the action has no %s", found)
			}
			return value
		})
	}
	for name, input := range action.Inputs {
		values["inputs."+name] = resolve(input.Default)
	}
	for name, value := range inputs {
		if _, known := action.Inputs[name]; !known {
			t.Errorf("the action has no input %s", name)
		}
		values["inputs."+name] = value
	}
	if len(action.Runs.Steps) != 1 || strings.Contains(action.Runs.Steps[0].Run, "${{") {
		t.Fatalf("steps %+v: the text of an input is run", action.Runs.Steps)
	}
	one := action.Runs.Steps[0]
	env := map[string]string{"GITHUB_ACTION_PATH": must.Get(filepath.Abs(artifacts + "github"))(t)}
	for name, value := range one.Env {
		env[name] = resolve(value)
	}
	for name, value := range more {
		if name != "GITHUB_TOKEN" { // which a step has only as an input
			env[name] = value
		}
	}
	out, code = j.runStep(t, one.Run, env)
	word, _, _ := strings.Cut(strings.TrimPrefix(out, "::stop-commands::"), "\n")
	if len(word) != 32 || !strings.HasSuffix(out, "\n::"+word+"::\n") {
		t.Errorf("a text of a manifest may be a command of the runner:\n%s", out)
	}
	return out, code
}

func (j *job) runTemplate(t *testing.T, variables map[string]string) (out string, code int) {
	t.Helper()
	var template map[string]struct {
		Script    []string          `json:"script"`
		Variables map[string]string `json:"variables"`
	}
	must.Succeed(t, yaml.Unmarshal(must.Get(os.ReadFile(artifacts+"gitlab.yml"))(t), &template))
	of := template[".kubizone-review"]
	env := map[string]string{}
	for _, all := range []map[string]string{of.Variables, variables} {
		for name, value := range all {
			env[name] = value
		}
	}
	return j.runStep(t, strings.Join(of.Script, "\n"), env)
}

func (j *job) runStep(t *testing.T, script string, env map[string]string) (out string, code int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
	command.Env = []string{"PATH=" + strings.TrimPrefix(j.client+":/usr/bin:/bin", ":"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()}
	if j.releases != "" {
		env["KUBIZONE_RELEASES"] = j.releases
	}
	for name, value := range env {
		command.Env = append(command.Env, name+"="+value)
	}
	text, err := command.CombinedOutput()
	if command.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), command.ProcessState.ExitCode()
}

// runJob runs the job of either forge for files, and the settings of the action.
func (j *job) runJob(t *testing.T, token string, fork bool, settings map[string]string) (out string, code int) {
	t.Helper()
	env := j.makeEnv(t, token, fork)
	if !j.isGitLab {
		inputs := map[string]string{}
		for name, value := range settings {
			inputs[strings.ReplaceAll(strings.ToLower(name), "_", "-")] = value
		}
		if j.kubeconfig != "" {
			inputs["kubeconfig"] = string(must.Get(os.ReadFile(j.kubeconfig))(t))
		}
		return j.runAction(t, inputs, env)
	}
	for name, value := range settings {
		env["KUBIZONE_"+name] = value
	}
	if j.kubeconfig != "" {
		env["KUBECONFIG"] = j.kubeconfig
	}
	return j.runTemplate(t, env)
}

const before = `
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {namespace: platform, name: example-org, labels: {set: dns}}
spec:
  domainName: example.org.
  nameServers: [{name: ns1, addresses: [192.0.2.53]}]
  delegations:
  - {namespace: platform, records: [{pattern: "*"}]}
  - {namespace: team-a, records: [{pattern: "*.a"}]}
`

func makeRecords(namespace, prefix string, from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "---\napiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {namespace: %s, name: %s%d, labels: {set: dns}}\n"+
			"spec: {domainName: %s%d.example.org., type: A, rdata: 192.0.2.%d}\n", namespace, strings.ReplaceAll(prefix, ".", "-"), i,
			prefix, i, i)
	}
	return b.String()
}

// W1, W4: the steps of artifacts/ci, against a server, and a fake forge.
func TestJobs(t *testing.T) {
	dir := filepath.Dir(must.Get(rig.Client(t.Context(), t.TempDir()))(t))
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	present := write("present.yaml", "apiVersion: kubi.zone/v1alpha1\nkind: DNSClass\nmetadata: {name: edge, annotations: {"+
		v1alpha1.AnnotationDefaultClass+": \"true\"}}\nspec: {namespaces: {names: [platform]}, "+
		"webhook: {server: \"https://192.0.2.1\"}}\n---"+before+makeRecords("platform", "w", 1, 12)+
		strings.ReplaceAll(makeRecords("team-a", "x.a", 1, 1),
			"x.a1", "x1.a"))
	server := standalone.Start(t, func(o *up.Options) { o.Load = []string{present} })
	records := must.Get(server.KubizoneV1alpha1().Records("").List(t.Context(), metav1.ListOptions{}))(t)
	if len(records.Items) != 13 {
		t.Fatalf("%d Records are loaded, want 13", len(records.Items))
	}
	same := write("same.yaml", before+makeRecords("platform", "w", 1, 12))
	added := write("added.yaml", before+makeRecords("platform", "w", 1, 13))
	away := write("away.yaml", strings.Replace(before, "  delegations:", "  dnsClassRefs: [{name: nowhere}]\n  delegations:", 1)+
		makeRecords("platform", "w", 1, 12))
	fewer := write("fewer.yaml", before+makeRecords("platform", "w", 6, 12))
	wrong := write("wrong.yaml", strings.Replace(before+makeRecords("platform", "w", 1, 12), "192.0.2.7}", "192.0.2.700}", 1))
	taken := write("taken.yaml", strings.Replace(before, `  - {namespace: team-a, records: [{pattern: "*.a"}]}`, "", 1))
	hostile := write("hostile.yaml", before+makeRecords("platform", "w", 1, 12)+"---\napiVersion: kubi.zone/v1alpha1\nkind: Record\n"+
		"metadata: {namespace: platform, name: h}\nspec: {domainName: h.example.org., type: TXT, rdata: \"``` @everyone <img> [a](b)\"}\n")
	touched := filepath.Join(t.TempDir(), "touched")
	eachForge(t, func(t *testing.T, s *standIn) {
		j := &job{standIn: s, client: dir, kubeconfig: server.Kubeconfig}
		for _, test := range []struct {
			what     string
			settings map[string]string
			token    string
			fork     bool
			code     int
			want     []string
		}{
			{"a new name", map[string]string{"FILES": added}, userToken, false, 0, []string{"14 objects judged",
				"+ w13.example.org. A 192.0.2.13"}},
			{"nothing", map[string]string{"FILES": same}, userToken, false, 0, []string{"0 written, 13 unchanged"}},
			{"two files", map[string]string{"FILES": same + " " + added}, userToken, false, 0, []string{"27 objects judged"}},
			{"too many removals", map[string]string{"FILES": fewer, "SELECTOR": "set=dns"}, userToken, false, 1,
				[]string{"**Refused.**", "platform/example-org loses values in 6 of 13 RRsets, more than 30 %",
					"- w1.example.org. A 192.0.2.1"}},
			{"allowed removals", map[string]string{"FILES": fewer, "SELECTOR": "set=dns", "MAX_REMOVED": "60"}, userToken, false, 0,
				[]string{"this would hold the zone"}},
			{"a name of another namespace", map[string]string{"FILES": taken}, userToken, false, 1, []string{"other namespaces lose names",
				"releases: "}},
			{"allowed", map[string]string{"FILES": taken, "ALLOW_RELEASES": "true"}, userToken, false, 0, []string{"releases: "}},
			{"another class", map[string]string{"FILES": away}, userToken, false, 1, []string{"leaves edge, whose servers remove it",
				"**Leaves**: `edge`"}},
			{"an allowed class", map[string]string{"FILES": away, "ALLOW_ZONE_REMOVAL": "true"}, userToken, false, 0,
				[]string{"**Leaves**: `edge`"}},
			{"a wrong file", map[string]string{"FILES": wrong}, userToken, false, 1, []string{"**Refused.**", "### Files", "192.0.2.700"}},
			{"texts of tenants", map[string]string{"FILES": hostile}, userToken, false, 0,
				[]string{"````diff\n", "@everyone", "Removals are not judged"}},
			{"settings that a shell would run", map[string]string{"FILES": "$(touch " + touched + ");`touch " + touched + "`", "NAME": "x"},
				userToken, false, 2, nil},
			{"a fork", map[string]string{"FILES": added}, readToken, true, 0, nil},
			{"no right", map[string]string{"FILES": added}, readToken, false, 2, nil},
		} {
			number := len(s.comments)
			out, code := j.runJob(t, test.token, test.fork, test.settings)
			if code != test.code {
				t.Errorf("%s: exit code %d, want %d\n%s", test.what, code, test.code, out)
			}
			if test.want == nil {
				if len(s.comments) != number {
					t.Errorf("%s: %d comments", test.what, len(s.comments))
				}
				continue
			}
			if len(s.comments) != 1 {
				t.Errorf("%s: %d comments\n%s", test.what, len(s.comments), out)
				continue
			}
			for _, want := range test.want {
				if !strings.Contains(s.comments[0].Body, want) {
					t.Errorf("%s: the comment lacks %q\n%s", test.what, want, s.comments[0].Body)
				}
			}
		}
		j.kubeconfig = ""
		if out, code := j.runJob(t, userToken, false, map[string]string{"FILES": same}); code != 0 ||
			!strings.Contains(s.comments[0].Body, "**Files alone**") {
			t.Errorf("without a kubeconfig: %d\n%s\n%v", code, out, s.comments)
		}
	})
	o, flags := newOptions(), pflag.NewFlagSet("", pflag.ContinueOnError)
	o.addFlags(flags)
	must.Succeed(t, flags.Parse([]string{"-f", "-", "--kubeconfig", server.Kubeconfig}))
	var out, progress bytes.Buffer
	err := o.run(t.Context(), strings.NewReader(string(must.Get(os.ReadFile(added))(t))), &out, &progress)
	if !strings.Contains(out.String(), "14 objects judged") || !strings.Contains(out.String(), "+ w13.example.org. A 192.0.2.13") {
		t.Errorf("standard input: %v\n%s", err, out.String())
	}
	if _, err := os.Stat(touched); err == nil {
		t.Error("the text of a setting was run")
	}
	left := must.Get(server.KubizoneV1alpha1().Records("").List(t.Context(), metav1.ListOptions{}))(t)
	if len(left.Items) != 13 {
		t.Errorf("%d Records after the reviews, want 13", len(left.Items))
	}
}

// The steps install the client of a release with the checksum of the job, or else of the release. A machine with cosign
// verifies the release's checksums.
func TestJobs_installTheClient(t *testing.T) {
	dir := t.TempDir()
	program := must.Get(os.ReadFile(must.Get(rig.Client(t.Context(), dir))(t)))(t)
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	packed := tar.NewWriter(compressed)
	must.Succeed(t, packed.WriteHeader(&tar.Header{Name: "kubectl-kubizone", Mode: 0o755, Size: int64(len(program))}))
	_ = must.Get(packed.Write(program))(t)
	must.Succeed(t, packed.Close())
	must.Succeed(t, compressed.Close())
	name := fmt.Sprintf("kubectl-kubizone-v0.5.0-linux-%s.tar.gz", runtime.GOARCH)
	right, wrong := fmt.Sprintf("%x", sha256.Sum256(archive.Bytes())), strings.Repeat("0", 64)
	var published atomic.Value
	published.Store(right)
	releases := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v0.5.0/" + name:
			_, _ = w.Write(archive.Bytes())
		case "/v0.5.0/SHA256SUMS.sigstore.json":
			_, _ = w.Write([]byte("{}"))
		case "/v0.5.0/SHA256SUMS":
			fmt.Fprintf(w, "%s  %s\n%s  other\n", published.Load(), name, wrong)
		default:
			http.NotFound(w, r)
		}
	}))
	defer releases.Close()
	file := filepath.Join(t.TempDir(), "r.yaml")
	must.Succeed(t, os.WriteFile(file, []byte(makeRecords("platform", "w", 1, 1)), 0o600))
	eachForge(t, func(t *testing.T, s *standIn) {
		j := &job{standIn: s, releases: releases.URL}
		settings := map[string]string{"FILES": file}
		if out, code := j.runJob(t, userToken, false, settings); code != 0 || len(s.comments) != 1 {
			t.Errorf("%d\n%s", code, out)
		}
		published.Store(wrong)
		if out, code := j.runJob(t, userToken, false, settings); code == 0 || len(s.writes) != 1 {
			t.Errorf("a wrong checksum: %d\n%s", code, out)
		}
		settings["SHA256"] = right
		if out, code := j.runJob(t, userToken, false, settings); code != 0 || strings.Contains(out, "signature") {
			t.Errorf("the checksum of the job: %d\n%s", code, out)
		}
		published.Store(right)
		settings["SHA256"] = wrong
		if out, code := j.runJob(t, userToken, false, settings); code == 0 {
			t.Errorf("another checksum than that of the job: %d\n%s", code, out)
		}
		delete(settings, "SHA256")
		for verdict, want := range map[string]int{"true": 0, "false": 1} {
			tools := t.TempDir()
			must.Succeed(t, os.WriteFile(filepath.Join(tools, "cosign"), []byte("#!/bin/sh\necho cosign \"$@\"\n"+verdict+"\n"), 0o700))
			j.client = tools
			out, code := j.runJob(t, userToken, false, settings)
			if code != want || !strings.Contains(out, "--certificate-identity https://github.com/kubi-zone/kubizone/.github/workflows/"+
				"release.yml@refs/tags/v0.5.0 --certificate-oidc-issuer https://token.actions.githubusercontent.com") {
				t.Errorf("cosign says %s: %d\n%s", verdict, code, out)
			}
		}
	})
}

// The review runs as a GitHub action, which calls review.sh, and as a GitLab template, which repeats the lines of this
// script. Both must have the same lines, and both name the version of this tree.
func TestJobs_areOne(t *testing.T) {
	script := string(must.Get(os.ReadFile(artifacts + "review.sh"))(t))
	_, script, _ = strings.Cut(script, "\nset -eu\n")
	template := string(must.Get(os.ReadFile(artifacts + "gitlab.yml"))(t))
	_, lines, _ := strings.Cut(template, "\n    set -eu\n")
	if got := strings.ReplaceAll("\n"+lines, "\n    ", "\n")[1:]; got != script {
		t.Errorf("gitlab.yml has other lines than review.sh:\n%s", got)
	}
	number := "v" + strings.TrimSuffix(version.Number(), "-dev")
	action := string(must.Get(os.ReadFile(artifacts + "github/action.yml"))(t))
	for _, text := range []string{template, action} {
		if !slices.Contains(strings.Fields(text), number) {
			t.Errorf("the version is not %s:\n%s", number, text)
		}
	}
}
