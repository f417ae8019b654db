// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"kubi.zone/kubizone/pkg/cmd/doctor"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// The doctor checks exactly the rules that the manifests grant.
func TestDoctor_knowsTheRulesThatAreGranted(t *testing.T) {
	set := map[string]int{}
	add := func(namespace string, rule rbacv1.PolicyRule, side int) {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				set[fmt.Sprintf("%s %s.%s %q in %q", verb, resource, rule.APIGroups[0], rule.ResourceNames, namespace)] |= side
			}
		}
	}
	const granted, asked = 1, 2
	every := slices.Concat(renderKustomization(t, filepath.Join(manifests, "ha")), renderEmbedded(t))
	for _, object := range every {
		name := object.GetName()
		if name != kuberig.ServerName && name != "kubizone-etcd" && !strings.HasPrefix(name, kuberig.ServerName+"-as-") {
			continue
		}
		switch object.GetKind() {
		case "ClusterRole":
			for _, rule := range convertTo[rbacv1.ClusterRole](t, object).Rules {
				add("", rule, granted)
			}
		case "Role":
			for _, rule := range convertTo[rbacv1.Role](t, object).Rules {
				add(doctor.InstallNamespace, rule, granted)
			}
		}
	}
	// The rules of system:auth-delegator and extension-apiserver-authentication-reader, in every cluster.
	read := []string{"get", "list", "watch"}
	add("", rbacv1.PolicyRule{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}}, granted)
	add("", rbacv1.PolicyRule{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}}, granted)
	add("kube-system", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"extension-apiserver-authentication"}, Verbs: read}, granted)
	for _, rule := range doctor.Rules() {
		add(rule.Namespace, rule.PolicyRule, asked)
	}
	for _, text := range slices.Sorted(maps.Keys(set)) {
		switch set[text] {
		case granted:
			t.Errorf("granted and not asked for: %s", text)
		case asked:
			t.Errorf("asked for and not granted: %s", text)
		}
	}
}

// runDoctor returns status and text of each check, and as CAUSE the causing check with the next step.
func (i *installation) runDoctor() (code int, status, text map[string]string) {
	i.t.Helper()
	client, err := rig.Client(i.withTimeout(), filepath.Dir(i.binary))
	if err != nil {
		i.t.Fatal(err)
	}
	out, err := exec.CommandContext(i.withTimeout(), client, "doctor", "--kubeconfig", i.kube.AdminKubeconfig()).Output()
	exit, failed := errors.AsType[*exec.ExitError](err)
	if failed {
		code = exit.ExitCode()
	} else if err != nil {
		i.t.Fatal(err)
	}
	status, text = map[string]string{}, map[string]string{}
	check := ""
	for line := range strings.Lines(string(out)) {
		switch fields := strings.Fields(line); {
		case len(fields) == 0:
		case fields[0] == "CAUSE:":
			status["CAUSE"] = strings.TrimSuffix(fields[1], ":")
		case fields[0] == "NEXT:":
			text["CAUSE"] = strings.Join(fields[1:], " ")
		case fields[0] == "next:":
			text[check] += " " + strings.Join(fields, " ")
		default:
			check = fields[1]
			status[check], text[check] = fields[0], strings.Join(fields[2:], " ")
		}
	}
	return code, status, text
}

// waitForDiagnosis waits, since kube-apiserver follows roles, APIServices and kinds by informers. Checks not named
// are ignored.
func (i *installation) waitForDiagnosis(when string, code int, want map[string]string) {
	i.t.Helper()
	for start := time.Now(); ; rig.Pause(start) {
		wrong := i.findMisdiagnosed(code, want)
		if len(wrong) == 0 {
			return
		}
		if time.Since(start) > waitTimeout {
			i.t.Errorf("%s: %s", when, strings.Join(wrong, "\n"))
			return
		}
	}
}

func (i *installation) findMisdiagnosed(code int, want map[string]string) (wrong []string) {
	i.t.Helper()
	got, status, text := i.runDoctor()
	if got != code {
		wrong = append(wrong, fmt.Sprintf("doctor ends with %d, want %d: %v", got, code, text))
	}
	for check, words := range want {
		wanted, want, _ := strings.Cut(words, " ")
		if status[check] != wanted || !strings.Contains(text[check], want) {
			wrong = append(wrong, fmt.Sprintf("%s is %s %s, want %s", check, status[check], text[check], words))
		}
	}
	return wrong
}
