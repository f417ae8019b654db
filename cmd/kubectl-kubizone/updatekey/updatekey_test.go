// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updatekey

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

// `updatekey show` prints a configuration for each kind of update client. Each contains the key's name, the secret or
// the place where the client keeps it, and the algorithm as the client spells it. The algorithm must not be left out,
// because a client's default may be another one, and would be refused (K2).
func TestFormats_nameTheAlgorithm(t *testing.T) {
	all := listFormats()
	if len(all) < 10 {
		t.Fatalf("only %q", all)
	}
	for _, format := range all {
		text := string(must.Get(formats.ReadFile("formats/" + format + ".txt"))(t))
		for _, transfers := range []bool{true, false} {
			var out strings.Builder
			must.Succeed(t, writeFormat(&out, text, shown{Host: "192.0.2.1", Port: "5353", Zone: "example.org", Key: "acme.team-a.",
				Algorithm: "hmac-sha256", Secret: "c2VjcmV0", SecretName: "acme-tsig", Transfers: transfers}))
			message := out.String()
			if strings.Contains(message, "{{") {
				t.Errorf("%s has a name without a value:\n%s", format, message)
			}
			words := strings.ToLower(strings.ReplaceAll(message, "-", ""))
			if !strings.Contains(message, "acme.team-a") || !strings.Contains(words, "hmacsha256") ||
				!strings.Contains(message, "192.0.2.1") {
				t.Errorf("%s:\n%s", format, message)
			}
			if !strings.Contains(message, "c2VjcmV0") && !strings.Contains(message, "acme-tsig") {
				t.Errorf("%s has no secret:\n%s", format, message)
			}
			if format == "external-dns" && strings.Contains(message, "transfer: Own") == transfers {
				t.Errorf("%s, transfers %v:\n%s", format, transfers, message)
			}
		}
	}
}

// Ctrl-C while the Role is written leaves nothing: no user would look for a Secret without an UpdateKey.
func TestCreate_leavesNothingAfterCtrlC(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	var asked []string
	answers := map[string]string{"updatekeys": `{"kind":"UpdateKey","apiVersion":"kubi.zone/v1alpha1"}`,
		"secrets": `{"kind":"Secret","apiVersion":"v1"}`, "roles": `{"kind":"Role","apiVersion":"rbac.authorization.k8s.io/v1"}`,
		"acme-tsig": `{"kind":"Status","apiVersion":"v1","status":"Success"}`}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		object := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		if r.URL.Query().Get("dryRun") == "" {
			asked = append(asked, r.Method+" "+object)
		}
		if object == "roles" {
			interrupt()
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(answers[object]))
	}))
	t.Cleanup(server.Close)
	command := NewCommand()
	command.SilenceErrors, command.SilenceUsage = true, true
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetArgs([]string{"create", "acme", "-n", "team", "--pattern", "*.apps.example.org.", "--kubeconfig",
		must.WriteKubeconfig(t, server.URL)})
	err := command.ExecuteContext(ctx)
	want := []string{"POST secrets", "POST roles", "DELETE acme-tsig", "DELETE acme-tsig"}
	if err == nil || !strings.Contains(err.Error(), "RoleBinding team/acme-tsig: context canceled") || !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q; %v", asked, want, err)
	}
	if out.Len() > 0 {
		t.Errorf("output %q", out.String())
	}
}
