// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

func serveAnswer(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: " + server.URL + "}}]\ncontexts: [{name: c, context: {cluster: c, namespace: team}}]\n"
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func runCommand(ctx context.Context, kubeconfig string, arguments ...string) (string, error) {
	command := NewCommand()
	command.SilenceErrors, command.SilenceUsage = true, true
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetArgs(append(arguments, "--kubeconfig", kubeconfig))
	err := command.ExecuteContext(ctx)
	return out.String(), err
}

func TestRun_printsWhatTheServerAnswers(t *testing.T) {
	var asked []string
	kubeconfig := serveAnswer(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		w.Write([]byte("; changes\n"))
	})
	for _, arguments := range [][]string{{"z"}, {"there/z", "--since", "4294967295"}} {
		if out, err := runCommand(t.Context(), kubeconfig, arguments...); err != nil || out != "; changes\n" {
			t.Errorf("%q: %q, %v", arguments, out, err)
		}
	}
	const want = "/apis/kubi.zone/v1alpha1/namespaces/team/zones/z/changes?format=text /apis/kubi.zone/v1alpha1/namespaces/there/zones/z/changes?format=text&since=4294967295"
	if got := strings.Join(asked, " "); got != want {
		t.Errorf("asked for %s", got)
	}
	if _, err := runCommand(t.Context(), kubeconfig, "there/z", "-n", "here"); err == nil ||
		!strings.Contains(err.Error(), "-n says here") {
		t.Errorf("two namespaces: %v", err)
	}
}

// A server ends each watch after a while, and reports errors in the stream.
func TestRun_followsAcrossTheEndOfAWatch(t *testing.T) {
	t.Parallel()
	var asked []string
	kubeconfig := serveAnswer(t, func(w http.ResponseWriter, r *http.Request) {
		switch asked = append(asked, r.URL.RawQuery); len(asked) {
		case 1:
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(`{"kind":"Zone","apiVersion":"kubi.zone/v1alpha1","status":{"serial":5}}`))
		case 2: // ends before any change
		case 3:
			w.Write([]byte(`{"type":"MODIFIED","object":{"since":5,"until":6,"changes":[{"from":5,"to":6,"added":[{"fqdn":"a.example.org.","type":"A","class":"IN","ttl":60,"rdata":"192.0.2.1"}]}]}}` + "\n"))
			w.Write([]byte(`{"type":"MODIFIED","object":{"since":6,"until":7,"changes":[{"from":6,"to":7,"removed":[{"fqdn":"a.example.org.","type":"A","class":"IN","ttl":60,"rdata":"192.0.2.1"}],"added":[{"fqdn":"b.example.org.","type":"TXT","class":"IN","ttl":0,"rdata":"\"%d\""}]}]}}` + "\n"))
		default:
			w.Write([]byte(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","message":"serial 7 is not held","code":410}}` + "\n"))
		}
	})
	out, err := runCommand(t.Context(), kubeconfig, "z", "-f")
	if err == nil || !strings.Contains(err.Error(), "changes of zone team/z after serial 7: serial 7 is not held; --since 7 goes on there") {
		t.Errorf("the error of the stream: %v", err)
	}
	const want = "; serial 5 to 6\n+ a.example.org.\t60\tIN\tA\t192.0.2.1\n; serial 6 to 7\n- a.example.org.\t60\tIN\tA\t192.0.2.1\n+ b.example.org.\t0\tIN\tTXT\t\"%d\"\n"
	if out != want {
		t.Errorf("printed\n%s", out)
	}
	if got := strings.Join(asked, " "); got != " since=5&watch=true since=5&watch=true since=7&watch=true" {
		t.Errorf("asked for %s", got)
	}
}

func TestRun_endsQuietlyWhenInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	kubeconfig := serveAnswer(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		interrupt()
		<-r.Context().Done()
	})
	if out, err := runCommand(ctx, kubeconfig, "z", "-f"); out != "" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
}
