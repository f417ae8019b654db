// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

type Status string

const (
	OK   Status = "OK"
	Warn Status = "WARN"
	Fail Status = "FAIL"
)

// Finding is the result of a check. Next is "" if OK.
type Finding struct {
	Check   string `json:"check"`
	Status  Status `json:"status"`
	Message string `json:"message"`
	Next    string `json:"next,omitempty"`
}

// judgeFacts runs the checks in order, because a failure explains later failures.
func judgeFacts(f *facts, now time.Time) (findings []Finding) {
	if f.versionErr != nil {
		// Without kube-apiserver, no other check has an answer.
		return []Finding{fail("kube-apiserver", "no answer: "+f.versionErr.Error(), "check --kubeconfig, --context and firewalls; "+
			"a process with an open port and no answer is overloaded or stopped (ps -o stat= -p PID prints T)")}
	}
	findings = []Finding{ok("kube-apiserver", f.version)}
	now = now.Add(f.clockSkews[kubeAPIServer]) // kube-apiserver verifies the certificates
	add := func(checks ...func(time.Time) Finding) {
		for _, check := range checks {
			if finding := check(now); finding.Status != "" {
				findings = append(findings, finding)
			}
		}
	}
	add(f.judgeInstallation, f.judgeClocks, f.judgeCertificates, f.judgeEtcd, f.judgeServers, f.judgeTrust,
		// An unavailable APIService is mostly an effect, so its step leads to the cause before.
		func(time.Time) Finding { return f.judgeAvailability(findCause(findings)) }, f.judgeProcesses, f.judgeNameServers)
	findings = append(findings, f.judgeZones(now)...)
	add(f.judgeNamespaces, f.judgeRights)
	return findings
}

func ok(check, message string) Finding { return Finding{Check: check, Status: OK, Message: message} }

func warn(check, message, next string) Finding {
	return Finding{Check: check, Status: Warn, Message: message, Next: next}
}

func fail(check, message, next string) Finding {
	return Finding{Check: check, Status: Fail, Message: message, Next: next}
}

func notRead(check, what string, err error) Finding {
	switch {
	case apierrors.IsForbidden(err):
		return warn(check, what+" not read: you lack the right", "run this as a user who may read "+what)
	case errors.Is(err, context.DeadlineExceeded):
		return warn(check, what+" not read: no answer within "+answerTime.String(), "repair the cause, or run this again")
	}
	return warn(check, what+" not read: "+err.Error(), "repair the cause, or run this again")
}

func findCause(findings []Finding) *Finding {
	for i := range findings {
		if findings[i].Status == Fail {
			return &findings[i]
		}
	}
	return nil
}
