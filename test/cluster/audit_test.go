// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

func auditFlags(server string) []string {
	return []string{"--audit-policy-file", filepath.Join(home, "audit.yaml"), "--audit-log-path", filepath.Join(home, server+"-audit.log")}
}

func writeAuditPolicy() error {
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		return err
	}
	policy := regexp.MustCompile("(?s)```yaml\n(apiVersion: audit.k8s.io/v1\nkind: Policy\n.*?)```").FindSubmatch(page)
	if policy == nil {
		return errors.New("docs/operations.md has no audit policy")
	}
	return os.WriteFile(filepath.Join(home, "audit.yaml"), policy[1], 0o600)
}

func waitForEvent(t *testing.T, server, verb, resource, name string) auditv1.Event {
	t.Helper()
	for start := time.Now(); ; rig.Pause(start) {
		text := must.Get(os.ReadFile(filepath.Join(home, server+"-audit.log")))(t)
		for line := range strings.Lines(string(text)) {
			var event auditv1.Event
			if !strings.HasSuffix(line, "\n") || json.Unmarshal([]byte(line), &event) != nil || event.ObjectRef == nil {
				continue
			}
			if at := event.ObjectRef; event.Verb == verb && at.Resource == resource && at.Name == name {
				return event
			}
		}
		if time.Since(start) > waitTimeout {
			t.Fatalf("the audit log of %s has no %s of %s %s", server, verb, resource, name)
		}
	}
}

// The page docs/operations.md promises what an audit log tells. kube-apiserver's log has user and action; the server's
// log also has the object as written, the rule that allowed it, and refusals with their text.
func TestAudit_saysWhoDidWhat(t *testing.T) {
	c := requireCluster(t)
	t.Parallel()
	ctx := within(t, waitTimeout)
	const namespace, user = "audited", "audited-user"
	kubeconfig := must.Get(c.makeTenant(ctx, namespace, user, "audited.example."))(t)
	run := func(object string) string {
		command := exec.CommandContext(ctx, c.kubectl, "--kubeconfig", kubeconfig, "create", "-n", namespace, "-f", "-")
		command.Stdin = strings.NewReader("{apiVersion: kubi.zone/v1alpha1, " + object)
		output, _ := command.CombinedOutput()
		return string(output)
	}
	run(`kind: Zone, metadata: {name: audited-zone}, spec: {domainName: audited.example.,
  delegations: [{namespace: audited, records: [{pattern: "*.dev"}]}]}}`)
	created := run("kind: Record, metadata: {name: audited-in}, spec: {domainName: a.dev.audited.example., type: A, rdata: 192.0.2.1}}")
	refused := run("kind: Record, metadata: {name: audited-out}, spec: {domainName: a.audited.example., type: A, rdata: 192.0.2.1}}")
	if !strings.Contains(created, "created") || !strings.Contains(refused, "is forbidden") {
		t.Fatalf("%s%s", created, refused)
	}

	event := waitForEvent(t, "server", "create", "records", "audited-in")
	if event.User.Username != user || event.ResponseStatus.Code != 201 || event.RequestObject == nil ||
		!strings.Contains(string(event.RequestObject.Raw), "a.dev.audited.example.") ||
		!strings.Contains(event.Annotations["delegation.kubi.zone/rule"], `"*.dev"`) {
		t.Errorf("%+v", event)
	}
	if event := waitForEvent(t, "server", "create", "records", "audited-out"); event.ResponseStatus.Code != 403 ||
		!strings.Contains(event.ResponseStatus.Message, "does not delegate A at a.audited.example.") {
		t.Errorf("%+v", event)
	}
	// For a creation, kube-apiserver knows the object's name only if the URL has it.
	passed := waitForEvent(t, "kube-apiserver", "create", "records", "")
	if passed.RequestObject != nil || passed.User.Username == "" {
		t.Errorf("%+v", passed)
	}
	text := must.Get(os.ReadFile(filepath.Join(home, "kube-apiserver-audit.log")))(t)
	if !strings.Contains(string(text), `"auditID":"`+string(event.AuditID)+`"`) {
		t.Errorf("kube-apiserver has no event %s", event.AuditID)
	}
}
