// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

func serveAnswer(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return must.WriteKubeconfig(t, server.URL)
}

func runCommand(t *testing.T, kubeconfig string, arguments ...string) (out, remarks string, err error) {
	t.Helper()
	command := NewCommand()
	command.SilenceErrors, command.SilenceUsage = true, true
	var o, e bytes.Buffer
	command.SetOut(&o)
	command.SetErr(&e)
	command.SetArgs(append(arguments, "--kubeconfig", kubeconfig))
	err = command.ExecuteContext(t.Context())
	return o.String(), e.String(), err
}

func TestRun_asksForTheZoneThatIsMeant(t *testing.T) {
	var asked []string
	kubeconfig := serveAnswer(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		w.Write([]byte("; a zone\n"))
	})
	for _, arguments := range [][]string{{"z"}, {"z", "-n", "other"}, {"there/z"}, {"there/z", "-n", "there"}} {
		if out, _, err := runCommand(t, kubeconfig, arguments...); err != nil || out != "; a zone\n" {
			t.Errorf("%q: %q, %v", arguments, out, err)
		}
	}
	want := "/apis/kubi.zone/v1alpha1/namespaces/team/zones/z/entries?format=text /apis/kubi.zone/v1alpha1/namespaces/other/zones/z/entries?format=text" +
		strings.Repeat(" /apis/kubi.zone/v1alpha1/namespaces/there/zones/z/entries?format=text", 2)
	if got := strings.Join(asked, " "); got != want {
		t.Errorf("asked for %s", got)
	}
	for want, arguments := range map[string][]string{"-o \"table\": write one of text": {"z", "-o", "table"},
		"-n says here": {"there/z", "-n", "here"}} {
		if _, _, err := runCommand(t, kubeconfig, arguments...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", arguments, err, want)
		}
	}
}

// A truncated answer is an error, not a smaller zone.
func TestRun_saysWhenTheAnswerBreaksOff(t *testing.T) {
	kubeconfig := serveAnswer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("; a zone\n"))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	if out, _, err := runCommand(t, kubeconfig, "z"); err == nil || !strings.Contains(err.Error(), "cut") {
		t.Errorf("%q, %v", out, err)
	}
}

// X3: a user who may not list Delegations exports the rest, and learns which right is missing.
func TestRun_exportsWithoutHiddenDelegations(t *testing.T) {
	for hidden, want := range map[string]int{"/namespaces/team/delegations": 1, "/v1alpha1/records": 1, "s": 2} {
		kubeconfig := serveAnswer(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch path := r.URL.Path; {
			case strings.HasSuffix(path, "/zones/z"):
				w.Write([]byte(`{"kind":"Zone","metadata":{"namespace":"team","name":"z"},"spec":{"domainName":"example.org."}}`))
			case strings.HasSuffix(path, hidden) && !strings.HasSuffix(path, "/namespaces/team/records"):
				w.WriteHeader(http.StatusForbidden)
				w.Write([]byte(`{"kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":"may not"}`))
			case strings.HasSuffix(path, "/delegations"):
				w.Write([]byte(`{"items":[{"metadata":{"name":"d"}}]}`))
			default:
				w.Write([]byte(`{"items":[{"metadata":{"namespace":"team","name":"r"}}]}`))
			}
		})
		out, remarks, err := runCommand(t, kubeconfig, "z", "-o", "yaml")
		if err != nil || !strings.Contains(out, "name: z") || !strings.Contains(out, "name: r") {
			t.Errorf("%s hidden: %v\n%s", hidden, err, out)
		}
		if strings.Count(remarks, "ask for permission to list") != want || strings.Count(remarks, "\n") != want {
			t.Errorf("%s hidden: %s", hidden, remarks)
		}
	}
}
