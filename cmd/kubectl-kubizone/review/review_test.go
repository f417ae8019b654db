// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"kubi.zone/kubizone/pkg/client/lint"
	"kubi.zone/kubizone/pkg/client/load"
	"kubi.zone/kubizone/pkg/client/plan"
	"kubi.zone/kubizone/test/must"
)

// The review quotes texts of tenants in Markdown. Mentions, links and commands of the
// forge in such a text appear as code and have no effect, also if the comment is cut to the forge's limit (W2).
func TestMarkdown_ofHostileTexts(t *testing.T) {
	hostile := "x` @everyone [a](http://evil.test) <img src=//evil.test>\n/merge\n```\n# head\n<!-- kubizone review dns --> \u202etxt"
	r := &review{reasons: []string{hostile}, planErr: errors.New(hostile), lint: &lint.Report{Findings: []lint.Finding{{Severity: "error",
		Object: hostile, Text: hostile}}}, plan: &plan.Plan{Zones: []*plan.ZonePlan{{Zone: hostile, FQDN: hostile, Held: hostile,
		Classes: []string{hostile}, Changes: []load.Change{{Op: "+", Text: hostile, Object: hostile}}}}, Others: []load.Change{{Op: "+",
		Text: hostile}}, Notes: []plan.Note{{Kind: "warning", Text: hostile}}}}
	body := cutBody(marker+"\n"+r.renderMarkdown(), 65536)
	if fault := findText(body); fault != "" || strings.Contains(body, "\u202e") || strings.Contains(body, "\n/merge") {
		t.Errorf("%s\n%s", fault, body)
	}
	for most := 200; most < len(body); most += 37 {
		short := cutBody(body, most)
		if fault := findText(short); fault != "" || len(short) > most || !strings.HasSuffix(short, "The rest is in the log of the job.\n") {
			t.Errorf("cut to %d: %d octets, %s\n%s", most, len(short), fault, short)
		}
	}
}

// findText returns a line with a tenant's text outside of code, or "".
func findText(body string) string {
	fence := ""
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		rest := strings.TrimLeft(line, "`")
		ticks := line[:len(line)-len(rest)]
		switch {
		case fence == "" && len(ticks) >= 3:
			fence = ticks
		case fence != "" && line == fence:
			fence = ""
		case fence == "" && strings.ContainsAny(dropCode(line), "@<[`/") && line != marker:
			return "not code: " + line
		}
	}
	return fence
}

// dropCode returns a line without its parts in backquotes.
func dropCode(line string) (plain string) {
	for line != "" {
		before, rest, found := strings.Cut(line, "`")
		plain += before
		if !found {
			return plain
		}
		inner := strings.TrimLeft(rest, "`")
		fence := strings.Repeat("`", 1+len(rest)-len(inner))
		_, after, closed := strings.Cut(inner, fence)
		if !closed {
			return plain + "`"
		}
		line = after
	}
	return plain
}

func TestGate(t *testing.T) {
	changes := func(op string, names ...string) (all []load.Change) {
		for _, n := range names {
			all = append(all, load.Change{Op: op, FQDN: n + ".example.org.", Type: "A", Namespace: "a",
				Values: map[string]int{"+": 1, "-": -1, "~": -1}[op]})
		}
		return all
	}
	zone := func(rrsets int64, all ...load.Change) *plan.Plan {
		return &plan.Plan{Zones: []*plan.ZonePlan{{Zone: "a/z", RRsets: rrsets, Changes: all}}}
	}
	unread := zone(0, changes("-", "a")...)
	unread.Zones[0].Unread = true
	for _, test := range []struct {
		what string
		gate gate
		plan *plan.Plan
		want string
	}{
		{"nothing", gate{maxRemoved: 0}, zone(10), ""},
		{"a share", gate{maxRemoved: 30}, zone(10, changes("-", "a", "b", "c")...), ""},
		{"above a share", gate{maxRemoved: 30}, zone(10, changes("-", "a", "b", "c", "d")...),
			"a/z loses values in 4 of 10 RRsets, more than 30 %"},
		{"a small zone", gate{maxRemoved: 30}, zone(9, changes("-", "a", "b", "c", "d")...), ""},
		{"any", gate{maxRemoved: 0}, zone(100, changes("-", "a")...), "more than 0 %"},
		{"all", gate{maxRemoved: 100}, zone(10, changes("-", "a", "b", "c", "d")...), ""},
		{"another Record of the name", gate{maxRemoved: 0}, zone(10, append(changes("-", "a"), changes("+", "a")...)...), ""},
		{"fewer values", gate{maxRemoved: 30}, zone(10, changes("~", "a", "b", "c", "d")...), "loses values in 4 of 10 RRsets"},
		{"of a zone that may not be read", gate{maxRemoved: 30}, unread, "you lack the right to get the Zone"},
		{"all of it", gate{maxRemoved: 100}, unread, ""},
	} {
		got := strings.Join(test.gate.judgePlan(test.plan), "\n")
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", test.what, got, test.want)
		}
	}
}

// A review can check the files alone, without a server. It works in jobs whose token may write comments and in those of
// forks, whose token may not; a wrong file makes the job fail in both (W4).
func TestRun_withoutServer(t *testing.T) {
	files := map[bool]string{}
	for _, good := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "r.yaml")
		text := "apiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {name: x}\nspec: {domainName: x.example.org., type: A, rdata: " +
			map[bool]string{true: "192.0.2.1", false: "192.0.2.700"}[good] + "}\n"
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
		files[good] = path
	}
	for _, test := range []struct {
		good, fork bool
		token      string
		want       string
	}{
		{true, false, jobToken, ""}, {false, false, jobToken, "the review refuses the branch"},
		{true, true, readToken, ""}, {false, true, readToken, "the review refuses the branch"},
		{true, false, readToken, "pull-requests: write"},
	} {
		s := newStandIn(t, false)
		env := s.makeEnv(t, test.token, test.fork)
		o := newOptions()
		o.getenv = func(key string) string { return env[key] }
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.addFlags(flags)
		must.Succeed(t, flags.Parse([]string{"--without-server", "-f", files[test.good]}))
		var out, progress bytes.Buffer
		err := o.run(t.Context(), nil, &out, &progress)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v\n%s", test, err, out.String())
		}
		summary, _ := os.ReadFile(env["GITHUB_STEP_SUMMARY"])
		comments := len(s.comments)
		if written := test.token == jobToken; written != (comments == 1) || written != (len(summary) == 0) ||
			test.fork != strings.Contains(progress.String(), "no comment") {
			t.Errorf("%+v: %d comments, summary %q, %s", test, comments, summary, progress.String())
		}
	}
}

// A kustomization of a branch names a server: the review ends with a sentence, and does not ask the server.
func TestRun_fetchesNothing(t *testing.T) {
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer server.Close()
	directory := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(directory, "kustomization.yaml"), []byte("resources: ["+server.URL+"/r.yaml]\n"), 0o600))
	config := must.WriteKubeconfig(t, "https://127.0.0.1:1")
	o := newOptions()
	o.getenv = func(string) string { return "" }
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.addFlags(flags)
	must.Succeed(t, flags.Parse([]string{"-k", directory, "--kubeconfig", config}))
	var out, progress bytes.Buffer
	err := o.run(t.Context(), nil, &out, &progress)
	if err == nil || !strings.Contains(err.Error(), "a review fetches nothing") || asked {
		t.Errorf("%v, asked: %t", err, asked)
	}
}
