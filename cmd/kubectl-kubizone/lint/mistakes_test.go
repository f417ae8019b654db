// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubizone/up"
	"kubi.zone/kubizone/pkg/client/lint"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/standalone"
)

const (
	refused = "refused"
	warned  = "warned"
	silent  = "silent"
)

// mistake is a row of testdata/mistakes.yaml: an object beside artifacts/examples, and the verdicts of server and lint.
type mistake struct {
	Mistake   string         `json:"mistake"`
	Kind      string         `json:"kind"`
	Namespace string         `json:"namespace,omitempty"`
	Spec      map[string]any `json:"spec"`
	Server    string         `json:"server"`
	// Lint is absent if it is as Server.
	Lint string `json:"lint,omitempty"`
	// Says is the rule that server and lint cite, or the field that they name.
	Says string `json:"says,omitempty"`
	// Why is the reason why the server is silent, or lint differs.
	Why string `json:"why,omitempty"`
}

func (m *mistake) makeManifest(name string) []byte {
	meta := map[string]any{"name": name}
	if m.Namespace != "" {
		meta["namespace"] = m.Namespace
	}
	text, err := yaml.Marshal(map[string]any{"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": m.Kind, "metadata": meta,
		"spec": m.Spec})
	if err != nil {
		panic(err)
	}
	return text
}

const (
	examples = "../../../artifacts/examples"
	family   = "testdata/family.yaml"
)

// L1, S5.14, S5.15: of 234 mistakes, server and lint say the same, but where lint needs a server.
func TestLint_ofMistakesAsTheServer(t *testing.T) {
	var table []mistake
	must.Succeed(t, yaml.UnmarshalStrict(must.Get(os.ReadFile("testdata/mistakes.yaml"))(t), &table))
	if len(table) != 234 {
		t.Errorf("%d mistakes, want 234", len(table))
	}
	if found := lintAll(t, examples, family); len(found.Findings) > 0 {
		t.Errorf("the examples: %+v", found.Findings)
	}
	server := standalone.Start(t, func(o *up.Options) { o.Load = []string{examples, family} })
	config := must.Get(clientcmd.BuildConfigFromFlags("", server.Kubeconfig))(t)
	client := must.Get(rest.HTTPClientFor(config))(t)
	count, lintCount := map[string]int{}, map[string]int{}
	for i, m := range table {
		name := fmt.Sprint("m", i)
		verdict, said := createDry(t, client, config.Host, &m, name)
		checkVerdict(t, &m, "server", verdict, m.Server, said)
		path := filepath.Join(t.TempDir(), name+".yaml")
		must.Succeed(t, os.WriteFile(path, m.makeManifest(name), 0o600))
		found := lintAll(t, examples, family, path)
		linted, texts := silent, ""
		for _, f := range found.Findings {
			texts += f.Text + "\n"
			if linted != refused {
				linted = map[string]string{"error": refused, "warning": warned}[f.Severity]
			}
		}
		want := m.Lint
		if want == "" {
			want = m.Server
		} else if want == m.Server {
			t.Errorf("%s: lint is as server: leave it out", m.Mistake)
		}
		checkVerdict(t, &m, "lint", linted, want, texts)
		if (m.Server == silent || m.Lint != "") != (m.Why != "") {
			t.Errorf("%s: a silent or differing verdict has a reason, and no other: %q", m.Mistake, m.Why)
		}
		if (m.Server == silent) != (m.Says == "") {
			t.Errorf("%s: what is said is in the table, %q", m.Mistake, m.Says)
		}
		count[verdict]++
		lintCount[linted]++
	}
	t.Logf("server %v, lint %v", count, lintCount)
}

func checkVerdict(t *testing.T, m *mistake, who, verdict, want, said string) {
	t.Helper()
	if verdict != want || verdict != silent && !regexp.MustCompile(regexp.QuoteMeta(m.Says)+`(\b|:|$)`).MatchString(said) {
		t.Errorf("%s: %s: %s, want %s with %q\n%s", m.Mistake, who, verdict, want, m.Says, said)
	}
	if testing.Verbose() {
		t.Logf("%s | %s | %s | %s", m.Mistake, who, verdict, strings.TrimSpace(said))
	}
}

var plurals = map[string]string{"Record": "records", "Zone": "zones", "Delegation": "delegations", "DNSClass": "dnsclasses",
	"UpdateKey": "updatekeys"}

func createDry(t *testing.T, client *http.Client, host string, m *mistake, name string) (verdict, said string) {
	t.Helper()
	path := host + "/apis/" + v1alpha1.SchemeGroupVersion.String()
	if m.Namespace != "" {
		path += "/namespaces/" + m.Namespace
	}
	body := must.Get(yaml.YAMLToJSON(m.makeManifest(name)))(t)
	request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, path+"/"+plurals[m.Kind]+
		"?dryRun=All&fieldValidation=Strict", bytes.NewReader(body)))(t)
	request.Header.Set("Content-Type", "application/json")
	answer := must.Get(client.Do(request))(t)
	defer answer.Body.Close()
	text := must.Get(io.ReadAll(answer.Body))(t)
	warnings := strings.Join(answer.Header.Values("Warning"), "\n")
	switch {
	case answer.StatusCode >= 400:
		return refused, string(text)
	case warnings != "":
		return warned, warnings
	}
	return silent, ""
}

func lintAll(t *testing.T, paths ...string) *lint.Report {
	t.Helper()
	return must.Get(lint.JudgeFiles(paths, nil))(t)
}
