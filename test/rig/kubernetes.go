// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// cachedKube is the directory of what an earlier hack/build-kube.sh built, or empty.
var cachedKube = sync.OnceValue(func() string { return findCached("hack/build-kube.sh") })

// findCached returns what a script of the repository says that it has built before, or empty.
func findCached(script string, arguments ...string) string {
	out, err := runScript(context.Background(), script, append(arguments, "--cached")...)
	if err != nil {
		return ""
	}
	return out
}

// findBuilt is findCached for a program; one that was not built, or is not of this run (Long), is a *Missing.
func findBuilt(program, script string, arguments ...string) (string, error) {
	if path := findCached(script, arguments...); path != "" && !ofLongAlone(program) {
		return path, nil
	}
	command := strings.Join(append([]string{script}, arguments...), " ")
	return "", &Missing{Program: program, In: "the programs of this run", Install: command}
}

// runScript runs a script of the repository and returns the path that it prints.
func runScript(ctx context.Context, script string, arguments ...string) (string, error) {
	// A test runs in the directory of its package. The source paths in the binary are no help: they are trimmed.
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(root, script)); err == nil {
			break
		}
		if filepath.Dir(root) == root {
			return "", fmt.Errorf("%s: no directory above this one has it", script)
		}
		root = filepath.Dir(root)
	}
	var wrong strings.Builder
	command := exec.CommandContext(ctx, filepath.Join(root, script), arguments...)
	command.Stderr = &wrong
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", script, err, wrong.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// GitOpsProgram is the path of a program of a module of hack/tools, as hack/build-gitops.sh left it in its cache; else
// a *Missing. Of gitops these are kstatus and argohealth, which say what GitOps tools make of objects. fluxapply of
// flux and argosync of argo apply and prune as these tools do, lego5 of lego and certmanager of cert-manager get
// certificates, solverconformance of cert-manager runs its suite, and webhookprovider of
// external-dns-webhook serves providers of external-dns.
func GitOpsProgram(module, program string) (string, error) {
	dir, err := findBuilt(program, "hack/build-gitops.sh", module)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, program), nil
}

// PythonPrograms is the directory of the programs in Python that write into zones, and of their python, as
// hack/build-python.sh left it; else a *Missing.
func PythonPrograms() (string, error) {
	return findBuilt("octodns-sync", "hack/build-python.sh")
}

// Tool is the path of a program of hack/tools, such as helm, as hack/build-tool.sh left it in its cache; else a
// *Missing.
func Tool(program string) (string, error) {
	return findBuilt(program, "hack/build-tool.sh", program)
}

// KubeProgram is the path of one of Kubernetes' own programs (kubectl, kube-apiserver, kube-controller-manager) in
// the version the tests are written for: from the directory $KUBE_BIN, or from what hack/build-kube.sh left in its
// cache; else a *Missing.
func KubeProgram(program string) (string, error) {
	dir := os.Getenv("KUBE_BIN")
	if dir == "" {
		dir = cachedKube()
	}
	path := filepath.Join(dir, program)
	if info, err := os.Stat(path); dir == "" || err != nil || info.Mode()&0o111 == 0 {
		return "", &Missing{Program: program, Install: "hack/build-kube.sh"}
	}
	return path, nil
}

// Earlier is the path of kubizone as it was at a revision of this repository, which hack/build-earlier.sh builds once;
// a *Missing where this clone does not have the revision.
func Earlier(ctx context.Context, revision string) (string, error) {
	if ofLongAlone(earlier) {
		return "", &Missing{Program: earlier, In: "the programs of this run", Install: "hack/build-earlier.sh " + revision}
	}
	path, err := runScript(ctx, "hack/build-earlier.sh", revision)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == noRevision {
		return "", &Missing{Program: earlier, In: "the history of this clone", Install: "git fetch --unshallow --tags"}
	}
	return path, err
}

// noRevision is the exit code of hack/build-earlier.sh for a clone that does not have the revision.
const noRevision = 3
