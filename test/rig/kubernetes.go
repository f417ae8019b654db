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

var cachedKube = sync.OnceValue(func() string { return findCached("hack/build-kube.sh") })

func findCached(script string, arguments ...string) string {
	out, err := runScript(context.Background(), script, append(arguments, "--cached")...)
	if err != nil {
		return ""
	}
	return out
}

// findBuilt returns a *Missing if the program is not built or not of this run (Long).
func findBuilt(program, script string, arguments ...string) (string, error) {
	if path := findCached(script, arguments...); path != "" && !ofLongAlone(program) {
		return path, nil
	}
	command := strings.Join(append([]string{script}, arguments...), " ")
	return "", &Missing{Program: program, In: "the programs of this run", Install: command}
}

// Root returns the repository's directory. Tests run in their package's.
func Root() (string, error) {
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.work")); err == nil {
			return root, nil
		}
		if filepath.Dir(root) == root {
			return "", errors.New("no directory above this one has go.work")
		}
		root = filepath.Dir(root)
	}
}

func runScript(ctx context.Context, script string, arguments ...string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
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

// GitOpsProgram finds a program of a hack/tools module, built by hack/build-gitops.sh.
func GitOpsProgram(module, program string) (string, error) {
	dir, err := findBuilt(program, "hack/build-gitops.sh", module)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, program), nil
}

// PythonPrograms returns the directory of Python, octoDNS and Ansible.
func PythonPrograms() (string, error) {
	return findBuilt("octodns-sync", "hack/build-python.sh")
}

// Tool finds a program of hack/tools.
func Tool(program string) (string, error) {
	return findBuilt(program, "hack/build-tool.sh", program)
}

// KubeProgram finds a program in $KUBE_BIN or of hack/build-kube.sh.
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

// Earlier builds kubizone of an earlier revision once. A clone without the revision gives a *Missing.
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

const noRevision = 3
