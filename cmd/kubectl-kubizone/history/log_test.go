// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"kubi.zone/kubizone/cmd/kubeconfig"
	"kubi.zone/kubizone/pkg/client/history"
	"kubi.zone/kubizone/test/must"
)

func serveAnswer(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return must.WriteKubeconfig(t, server.URL)
}

func runCommand(ctx context.Context, kubeconfig string, arguments ...string) (string, error) {
	command := NewLogCommand()
	command.SilenceErrors, command.SilenceUsage = true, true
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetArgs(append(arguments, "--kubeconfig", kubeconfig))
	err := command.ExecuteContext(ctx)
	return out.String(), err
}

// A server ends each watch after a while, and reports errors in the stream.
func TestRun_followsAcrossTheEndOfAWatch(t *testing.T) {
	t.Parallel()
	var asked []string
	step := func(serial int, sign, value string) string {
		return fmt.Sprintf(`{"fqdn":"example.org.","from":%d,"serial":%d,"contentGeneration":%d,"time":"2026-11-20T14:00:00Z","way":"Request","by":"alice",%q:[{"owner":"a","type":"A","data":%q}]}`,
			serial-1, serial, serial, sign, value)
	}
	six, seven := step(6, "added", "192.0.2.1"), step(7, "removed", "192.0.2.1")
	answer := func(w http.ResponseWriter, steps ...string) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"kind":"ZoneChanges","apiVersion":"kubi.zone/v1alpha1","fqdn":"example.org.","history":[` + strings.Join(steps,
			",") + `]}`))
	}
	event := func(until int) []byte {
		return fmt.Appendf(nil, `{"type":"MODIFIED","object":{"kind":"ZoneChanges","apiVersion":"kubi.zone/v1alpha1",`+
			`"since":%d,"until":%d}}`+"\n", until-1, until)
	}
	kubeconfig := serveAnswer(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("form")+r.URL.Query().Get("since"))
		w.Header().Set("Content-Type", "application/json")
		switch len(asked) {
		case 1:
			w.Write([]byte(`{"kind":"Zone","apiVersion":"kubi.zone/v1alpha1","metadata":{"namespace":"team","name":"z"},"status":{"fqdn":"example.org.","serial":5}}`))
		case 2: // ends before any change
		case 3:
			w.Write(event(6))
			w.Write(event(7))
		case 4: // both changes are there already
			answer(w, seven, six)
		default:
			w.Write([]byte(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","message":"serial 7 is not held","code":410}}` + "\n"))
		}
	})
	out, err := runCommand(t.Context(), kubeconfig, "z", "-f")
	if err == nil || !strings.Contains(err.Error(),
		"changes of zone team/z after serial 7: serial 7 is not held; --since 7 --follow goes on there") {
		t.Errorf("the error of the stream: %v", err)
	}
	const want = "; serial 6, 2026-11-20T14:00:00Z, by alice\n+ a.example.org. A 192.0.2.1\n" +
		"; serial 7, 2026-11-20T14:00:00Z, by alice\n- a.example.org. A 192.0.2.1\n"
	if out != want {
		t.Errorf("printed\n%s", out)
	}
	if got := strings.Join(asked, " "); got != " 5 5 history 7" {
		t.Errorf("asked for %s", got)
	}
}

func TestRun_endsQuietlyWhenInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	kubeconfig := serveAnswer(t, func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("watch") {
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(`{"kind":"Zone","apiVersion":"kubi.zone/v1alpha1","metadata":{"namespace":"team","name":"z"},"status":{"fqdn":"example.org.","serial":5}}`))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.(http.Flusher).Flush()
		interrupt()
		<-r.Context().Done()
	})
	if out, err := runCommand(ctx, kubeconfig, "z", "-f"); out != "" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
}

// A revert that leaves nothing names no further command.
func TestDescribeRun(t *testing.T) {
	left := []history.Left{{Text: "x"}}
	for want, plan := range map[string]*history.Plan{
		"1 Record written":  {Serial: 5, Written: 1},
		"0 Records written": {Serial: 5},
		"2 Records written; kubectl kubizone diff example.org 5 prints what is left": {Serial: 5, Written: 2, Left: left},
		"2 Records written; kubectl kubizone diff example.org 2026-11-20T14:00:00Z prints what is left": {
			Time: "2026-11-20T14:00:00Z", Written: 2, Left: left},
	} {
		if got := describeRun("example.org", plan); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestExplainStop_printsTheCommandThatContinues(t *testing.T) {
	o := &revertOptions{room: &room{client: kubeconfig.NewOptions()}, name: "www", includeManaged: true}
	plan := &history.Plan{Serial: 5, Written: 1, Changes: make([]history.Reversal, 3)}
	err := o.explainStop("example.org", plan, history.ErrStopped{Reason: "record team/b: no"})
	const want = "stopped after 1 of 3 Records: record team/b: no; what was written stays, and this goes on: " +
		"kubectl kubizone revert example.org --to 5 --name www --include-managed"
	if err.Error() != want {
		t.Errorf("%v", err)
	}
}
