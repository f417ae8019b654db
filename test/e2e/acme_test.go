// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/acme"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// postChallenge posts as cert-manager does, without apiVersion and kind.
func (u *updated) postChallenge(action acme.ChallengeAction, namespace, fqdn, key string) string {
	u.t.Helper()
	body := must.Get(json.Marshal(map[string]any{"request": acme.ChallengeRequest{UID: "1", Action: action, Type: "dns-01",
		DNSName: "ignored.example.org", Key: key, ResourceNamespace: namespace, ResolvedFQDN: fqdn, ResolvedZone: "example.org."}}))(u.t)
	raw, err := u.client.KubizoneV1alpha1().RESTClient().Post().AbsPath("/apis/acme.kubi.zone/v1alpha1/kubizone").
		SetHeader("Content-Type", "application/json").Body(body).DoRaw(u.t.Context())
	if err != nil {
		return err.Error()
	}
	var answer acme.ChallengePayload
	must.Succeed(u.t, json.Unmarshal(raw, &answer))
	if answer.Response.Success {
		return ""
	}
	return answer.Response.Result.Message
}

// S13.10, S4.14: challenges are written for their namespace and removed value by value, not at another namespace's name
// (attack 100). A server that dies between Present and CleanUp leaves the values, and takes a repeated Present.
func TestACME_solves_S13_10(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	dir := t.TempDir()
	u := runUpdated(t, dir, "--acme")
	first, second := strings.Repeat("a", 43), strings.Repeat("b", 43)
	const shop, apps = "_acme-challenge.b.example.org.", "_acme-challenge.www.apps.example.org."
	waitUntil(t, "a zone that takes challenges", func() bool {
		return u.postChallenge(acme.ActionPresent, "team-a", shop, first) == ""
	})
	for i, step := range []struct {
		action                   acme.ChallengeAction
		namespace, at, key, want string
		a, b                     string // expected records of the namespaces
	}{
		{acme.ActionPresent, "team-a", shop, first, "", `_acme-challenge.b TXT 60 "` + first + `"`, ""},
		{acme.ActionPresent, "team-a", shop, first, "", `_acme-challenge.b TXT 60 "` + first + `"`, ""},
		{acme.ActionPresent, "team-a", shop, second, "", `_acme-challenge.b TXT 60 "` + first + `" "` + second + `"`, ""},
		{acme.ActionPresent, "team-b", shop, second, "", `_acme-challenge.b TXT 60 "` + first + `" "` + second + `"`,
			`_acme-challenge.b TXT 60 "` + second + `"`},
		{acme.ActionCleanUp, "team-a", shop, second, "", `_acme-challenge.b TXT 60 "` + first + `"`,
			`_acme-challenge.b TXT 60 "` + second + `"`},
		{acme.ActionCleanUp, "team-a", shop, second, "", `_acme-challenge.b TXT 60 "` + first + `"`,
			`_acme-challenge.b TXT 60 "` + second + `"`},
		{acme.ActionCleanUp, "team-a", shop, first, "", "", `_acme-challenge.b TXT 60 "` + second + `"`},
		{acme.ActionCleanUp, "team-b", shop, second, "", "", ""},
		{acme.ActionPresent, "team-b", apps, first, "does not delegate TXT", "", ""},
		{acme.ActionCleanUp, "team-b", apps, first, "", "", ""},
		{acme.ActionPresent, "team-c", shop, first, "no zone takes", "", ""},
		{acme.ActionPresent, "team-c", "_acme-challenge.example.net.", first, "no zone takes", "", ""},
		{acme.ActionPresent, "team-a", "www.apps.example.org.", "v=spf1 -all", "request.key", "", ""},
	} {
		if i == 1 || i == 4 {
			u.process.Kill()
			u.running = runUp(t, dir, "--secrets-dir", u.secrets, "--acme")
		}
		got := u.postChallenge(step.action, step.namespace, step.at, step.key)
		if (got == "") != (step.want == "") || !strings.Contains(got, step.want) {
			t.Errorf("%s for %s at %s: %q, want %q", step.action, step.namespace, step.at, got, step.want)
		}
		if a, b := u.readRecords("team-a"), u.readRecords("team-b"); a != step.a || b != step.b {
			t.Errorf("%s for %s at %s: team-a has %s and team-b %s, want %s and %s", step.action, step.namespace, step.at, a, b,
				step.a, step.b)
		}
	}
	// CleanUp succeeds after the zone is gone: otherwise the Challenge would stay forever.
	must.Succeed(t, u.client.KubizoneV1alpha1().Zones("dns").Delete(t.Context(), "example-org", metav1.DeleteOptions{}))
	waitUntil(t, "a zone that is gone", func() bool {
		return u.postChallenge(acme.ActionPresent, "team-a", shop, first) != "" &&
			u.postChallenge(acme.ActionCleanUp, "team-a", shop, first) == ""
	})
}

// A challenge's TXT at a name without a host would hide this name from a wildcard, so the challenge is refused with two
// remedies. When the host has a Record, the challenge is accepted (S4.23).
func TestACME_namesWhatItWouldHide_S4_23(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	u := runUpdated(t, t.TempDir(), "--acme")
	client, key := u.client.KubizoneV1alpha1(), strings.Repeat("a", 43)
	zone := must.Get(client.Zones("dns").Get(t.Context(), "example-org", metav1.GetOptions{}))(t)
	zone.Spec.Delegations = append(zone.Spec.Delegations, v1alpha1.DelegationRule{Namespace: "dns",
		Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}})
	must.Get(client.Zones("dns").Update(t.Context(), zone, metav1.UpdateOptions{}))(t)
	for _, host := range []string{"*", "free"} {
		const fqdn = "_acme-challenge.free.example.org."
		waitUntil(t, "an answer of the zone", func() bool {
			got := u.postChallenge(acme.ActionPresent, "team-a", fqdn, key)
			return host == "*" && got == "" || strings.Contains(got, "would hide free.example.org.") && strings.Contains(got, "(S4.23") &&
				strings.Contains(got, "have a record created at free.example.org. first, or write _acme-challenge.example.org.")
		})
		if got := u.postChallenge(acme.ActionCleanUp, "team-a", fqdn, key); got != "" {
			t.Errorf("a challenge is not cleaned up: %s", got)
		}
		r := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: strings.Replace(host, "*", "any", 1)},
			Spec: v1alpha1.RecordSpec{DomainName: host + ".example.org.", Type: "A", RData: "192.0.2.1"}}
		must.Get(client.Records("dns").Create(t.Context(), r, metav1.CreateOptions{}))(t)
	}
	if got := u.postChallenge(acme.ActionPresent, "team-a", "_acme-challenge.free.example.org.", key); got != "" {
		t.Errorf("a challenge for a host that has a record: %s", got)
	}
}

// cert-manager's conformance suite for webhook solvers passes. The second part is left out, because the key
// "anothertestingkey" is no possible challenge response; TestACME_solves_S13_10 covers two values at a name (S13.10).
func TestACME_conforms_S13_10(t *testing.T) {
	t.Parallel()
	program := rig.Need(rig.GitOpsProgram("cert-manager", "solverconformance"))(t)
	kubectl := rig.Need(rig.KubeProgram("kubectl"))(t)
	apiserver := rig.Need(rig.KubeProgram("kube-apiserver"))(t)
	u := &updated{running: runUp(t, t.TempDir(), "--acme", "--transfer-allow", "127.0.0.1")}
	u.makeZone("example-org", "example.org.")
	waitUntil(t, "a zone that takes challenges", func() bool {
		return u.postChallenge(acme.ActionPresent, "team-a", "_acme-challenge.first.example.org.", strings.Repeat("a", 43)) == ""
	})
	message, err := u.runClient([]string{"TEST_ASSET_ETCD=" + filepath.Join(filepath.Dir(program), "etcd"), "TEST_ASSET_KUBECTL=" + kubectl,
		"TEST_ASSET_KUBE_APISERVER=" + apiserver}, program, filepath.Join(u.dir, "kubeconfig"), "_acme-challenge.suite.example.org.",
		"example.org.", u.dns)
	if err != nil || !strings.Contains(message, "--- PASS: TestSolver/Conformance/Basic/PresentRecord") {
		t.Errorf("%v\n%s", err, message)
	}
}
