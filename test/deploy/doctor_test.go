// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// runDoctor returns status and text of each check, and as CAUSE the causing check with the next step.
func (i *installation) runDoctor() (code int, status, text map[string]string) {
	i.t.Helper()
	client := must.Get(rig.Client(i.withTimeout(), filepath.Dir(i.binary)))(i.t)
	out, err := exec.CommandContext(i.withTimeout(), client, "doctor", "--kubeconfig", i.kube.AdminKubeconfig()).Output()
	exit, failed := errors.AsType[*exec.ExitError](err)
	if failed {
		code = exit.ExitCode()
	} else if err != nil {
		i.t.Fatal(err)
	}
	status, text = map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(out)) {
		switch fields := strings.Fields(line); {
		case len(fields) == 0:
		case fields[0] == "CAUSE:":
			status["CAUSE"] = strings.TrimSuffix(fields[1], ":")
		case fields[0] == "NEXT:":
			text["CAUSE"] = strings.Join(fields[1:], " ")
		default:
			status[fields[1]], text[fields[1]] = fields[0], strings.Join(fields[2:], " ")
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
			i.t.Logf("%s: after %s", when, time.Since(start).Round(100*time.Millisecond))
			return
		}
		if time.Since(start) > waitTimeout {
			i.t.Errorf("%s: %s", when, strings.Join(wrong, "\n"))
			return
		}
		i.kube.ProbeAgain(i.withTimeout())
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
