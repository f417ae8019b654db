// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/applier"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/client"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/standalone"
)

func makeManifest(name, address string) string {
	return fmt.Sprintf("apiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {name: %s}\nspec: {domainName: %s.example.org., type: A, rdata: %q}\n---\n", name, name, address)
}

func TestApply_together_S10_1(t *testing.T) {
	up := standalone.Start(t)
	run := func(in string, arguments ...string) (string, error) {
		t.Helper()
		var out bytes.Buffer
		command := applier.NewCommand()
		command.SilenceErrors, command.SilenceUsage = true, true
		command.SetArgs(append(arguments, "--kubeconfig", up.Kubeconfig, "-n", "team"))
		command.SetIn(strings.NewReader(in))
		command.SetOut(&out)
		err := command.ExecuteContext(t.Context())
		return out.String(), err
	}
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "org"}, Spec: v1alpha1.ZoneSpec{DomainName: "example.org.", Delegations: []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}}}}
	must.Get(up.KubizoneV1alpha1().Zones("platform").Create(t.Context(), zone, metav1.CreateOptions{}))(t)
	serial := func() int64 {
		z := must.Get(up.KubizoneV1alpha1().Zones("platform").Get(t.Context(), "org", metav1.GetOptions{}))(t)
		return z.Status.Serial
	}
	file := filepath.Join(t.TempDir(), "records.yaml")
	must.Succeed(t, os.WriteFile(file, []byte(makeManifest("a", "192.0.2.1")+makeManifest("b", "192.0.2.2")), 0o600))
	first := serial()
	if out, err := run("", "-f", file); err != nil || out != fmt.Sprintf("record.kubi.zone/a created\nrecord.kubi.zone/b created\nzone "+
		"platform/org: serial %d\n", first+1) {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := run("", "-f", file); err != nil ||
		out != "record.kubi.zone/a unchanged\nrecord.kubi.zone/b unchanged\nzone platform/org: unchanged\n" {
		t.Errorf("again: %q, %v", out, err)
	}
	list := "kind: List\napiVersion: v1\nitems:\n- " + strings.ReplaceAll(strings.TrimSuffix(makeManifest("c", "192.0.2.3"), "---\n"), "\n",
		"\n  ")
	if out, err := run(list, "-f", "-", "--delete", "b"); err != nil ||
		out != fmt.Sprintf("record.kubi.zone/c created\nrecord.kubi.zone/b deleted\nzone platform/org: serial %d\n", first+2) {
		t.Errorf("%q, %v", out, err)
	}
	must.Get(up.KubizoneV1alpha1().Records("team").Patch(t.Context(), "c", types.MergePatchType, []byte(`{"spec":{"rdata":"192.0.2.33"}}`),
		metav1.PatchOptions{FieldManager: "kubectl-edit"}))(t)
	before := serial()
	for what, c := range map[string]struct {
		in        string
		arguments []string
		want      string
	}{
		"refused": {makeManifest("d", "192.0.2.4") + makeManifest("e", "no address"), []string{"-f", "-"}, `nothing was written: ` +
			`-, record e: spec.rdata: Invalid value`},
		"deletes nothing": {"", []string{"--delete", "gone"}, "--delete gone: records.kubi.zone \"gone\" not found"},
		"nothing":         {"", nil, "no changes given"},
		"many, and nobody to ask": {"", []string{"--delete", strings.Repeat("x,", 11) + "x"}, "Delete 12 Records? " +
			"There is no terminal to ask at: --yes does not ask"},
		"empty": {"---\n", []string{"-f", "-"}, "no Record found"},
		"too many": {strings.Repeat(makeManifest("d", "192.0.2.4"), 101), []string{"-f", "-"},
			"spec.items: Too many: 101: must have at most 100 items: make several change sets"},
		"too large": {makeManifest("d", strings.Repeat("x", 270000)), []string{"-f", "-"}, "a change set may have 262144: make several"},
		"no Record": {"apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n", []string{"-f", "-"}, `-: v1 Secret "x" is no Record`},
		"an unknown kind": {strings.Replace(makeManifest("d", "192.0.2.4"), "Record", "Recrod", 1), []string{"-f", "-"},
			"-: recrod d: kubi.zone/v1alpha1 has no kind Recrod; did you mean Record? "},
		"two namespaces": {strings.Replace(makeManifest("d", "192.0.2.4"), "{name: d}", "{name: d, namespace: other}", 1),
			[]string{"-f", "-"}, "record d is of namespace other"},
		"a conflict": {makeManifest("c", "192.0.2.9"), []string{"-f", "-"},
			`-, record c: spec.rdata: conflict with "kubectl-edit" using kubi.zone/v1alpha1; ` +
				`for the conflicts: remove the fields from the file`},
		"an unknown field": {strings.Replace(makeManifest("d", "192.0.2.4"), "rdata", "rdatas", 1), []string{"-f", "-"},
			"spec.rdatas: unknown field; did you mean rdata?"},
	} {
		if out, err := run(c.in, c.arguments...); err == nil || !strings.Contains(err.Error(), c.want) || out != "" {
			t.Errorf("%s: %q, %v", what, out, err)
		}
	}
	for what, arguments := range map[string][]string{"refused": {"--delete", "gone"}, "the command line": nil} {
		if _, err := run("", arguments...); errors.Is(err, applier.ErrRefused) != (what == "refused") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if now := serial(); now != before {
		t.Errorf("serial %d to %d: a refused set was written", before, now)
	}
}

// The server's Warnings are on standard error as kubectl prints them, each once, with the Record's name: that a dot
// may be forgotten (S5.1), and that the zone is held from now on (S7.6). Of many, the first and a count are printed.
func TestApply_printsWarnings_S7_6(t *testing.T) {
	up := standalone.Start(t)
	run := func(in string, arguments ...string) (stderr string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "records.yaml")
		must.Succeed(t, os.WriteFile(file, []byte(in), 0o600))
		if in != "" {
			arguments = append(arguments, "-f", file)
		}
		var out, errors bytes.Buffer
		if code := client.Main(append(arguments, "--kubeconfig", up.Kubeconfig), &out, &errors); code != 0 ||
			strings.Contains(out.String(), "Warning: ") {
			t.Fatalf("%q: %d\n%s%s", arguments, code, out.String(), errors.String())
		}
		return errors.String()
	}
	const record = "apiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {name: %[1]s}\n" +
		"spec: {zoneRef: {name: org}, domainName: %[2]q, type: %[3]s, rdata: %[4]q}\n---\n"
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "org"}, Spec: v1alpha1.ZoneSpec{DomainName: "example.org.",
		Delegations: []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "@"}, {Pattern: "*"}}}}}}
	must.Get(up.KubizoneV1alpha1().Zones("team").Create(t.Context(), zone, metav1.CreateOptions{}))(t)
	right := fmt.Sprintf(record, "apex-ns", "@", "NS", "ns1.example.net.") + fmt.Sprintf(record, "www", "www", "A", "192.0.2.1")
	quiet := run(right, "apply", "-n", "team")
	if quiet != "" {
		t.Errorf("right Records: %q", quiet)
	}
	undotted := "Warning: record alias: S5.1: CNAME at alias.example.org. names a host: \"www.example.com\" " +
		"has no trailing dot, so it means www.example.com.example.org.; write \"www.example.com.\" if it is absolute\n"
	if stderr := run(fmt.Sprintf(record, "alias", "alias", "CNAME", "www.example.com"), "apply", "-n", "team"); stderr != undotted {
		t.Errorf("a forgotten dot: %q, want %q", stderr, undotted)
	}
	if stderr := run("", "apply", "-n", "team", "--delete", "apex-ns"); !strings.HasPrefix(stderr,
		"Warning: record apex-ns: S7.6: zone example.org. is held from now on: ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("the last NS: %q", stderr)
	}
	many := ""
	for i := range 60 {
		many += fmt.Sprintf(record, fmt.Sprint("a", i), fmt.Sprint("a", i), "A", fmt.Sprint("240.0.0.", i))
	}
	many += fmt.Sprintf(record, "alias", "alias", "CNAME", "a0")
	stderr := run(many, "apply", "-n", "team")
	if lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n"); len(lines) != 21 ||
		!strings.HasPrefix(lines[0], "Warning: record a0: S5.14") ||
		!strings.HasPrefix(lines[19], "Warning: record a19: ") || lines[20] != "Warning: and 40 more" {
		t.Errorf("60 Warnings: %d lines\n%s", len(lines), stderr)
	}
	// A revert writes the Record with the forgotten dot again. Its dry run and its write have the same Warning.
	serial := must.Get(up.KubizoneV1alpha1().Zones("team").Get(t.Context(), "org", metav1.GetOptions{}))(t).Status.Serial
	stderr = run("", "revert", "team/org", "--name", "alias", "--to", fmt.Sprint(serial-1), "--yes", "-n", "team")
	if stderr != undotted {
		t.Errorf("revert: %q, want %q", stderr, undotted)
	}
	stderr = run("", "updatekey", "create", "team/key", "--pattern", "x.example.net.", "--secrets-dir", t.TempDir())
	if !strings.HasPrefix(stderr, "Warning: S13.1: ") || strings.Count(stderr, "Warning: ") != 1 {
		t.Errorf("updatekey create: %q", stderr)
	}
	same := fmt.Sprintf(record, "a0", "a0", "A", "0.0.0.0") + fmt.Sprintf(record, "a1", "a1", "A", "0.0.0.0")
	if stderr = run(same, "apply", "-n", "team"); !strings.HasPrefix(stderr, "Warning: record a0 and 1 more: S5.14: ") ||
		strings.Count(stderr, "\n") != 1 {
		t.Errorf("one text of two Records: %q", stderr)
	}
}

// If a change set gets no answer in time, the user must know whether it may have been written. The error says that the
// outcome is unknown in just those cases, and not if the server has said that nothing was written.
func TestApply_saysWhetherTheOutcomeIsKnown(t *testing.T) {
	for _, test := range []struct {
		what    string
		answer  func(w http.ResponseWriter)
		unknown bool
	}{
		{"nothing was written", answerReason(metav1.StatusReasonServerTimeout), false},
		{"not known", answerReason(metav1.StatusReasonTimeout), true},
		{"the connection ends", func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, true},
	} {
		t.Run(test.what, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { test.answer(w) }))
			defer server.Close()
			config := must.WriteKubeconfig(t, server.URL)
			command := applier.NewCommand()
			command.SilenceErrors, command.SilenceUsage = true, true
			command.SetArgs([]string{"-f", "-", "--kubeconfig", config, "-n", "team"})
			command.SetIn(strings.NewReader(makeManifest("a", "192.0.2.1")))
			err := command.ExecuteContext(t.Context())
			if err == nil || strings.Contains(err.Error(), "whether the change set was written is not known") != test.unknown {
				t.Errorf("%v: want an error, that says that the outcome is not known: %t", err, test.unknown)
			}
		})
	}
}

func answerReason(reason metav1.StatusReason) func(w http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusGatewayTimeout)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusGatewayTimeout, Reason: reason, Message: "the test says so"})
	}
}
