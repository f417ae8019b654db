// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"syscall"
)

// Programs names the environment variable with a directory in which the packages of one run share the programs under
// test; `make test` makes one.
const Programs = "KUBIZONE_BIN"

// LongLease is a flag of the only controller of a test. A controller that cannot renew its Lease for half of this time
// ends, and on a machine with few processors other tests can keep it from that for some seconds.
const LongLease = "--lease-duration=1m"

// RetrySoon has each program that this process starts try failed deliveries again after a second.
func RetrySoon() {
	if err := os.Setenv("DNS_RECORD_RETRY_BASE_DELAY", "1s"); err != nil {
		panic(err)
	}
}

// Kubizone is the path of the program under test: the one that a package of this run has built, else one built now,
// into dir where packages share none. With the build tag faultpoints it fails where it is told to; tag is that or
// empty.
func Kubizone(ctx context.Context, dir, tag string) (string, error) {
	return buildProgram(ctx, dir, "cmd/kubizone", tag)
}

// WebhookServer is the path of the reference server of the webhook protocol, built as Kubizone builds.
func WebhookServer(ctx context.Context, dir string) (string, error) {
	return buildProgram(ctx, dir, "cmd/webhook-server", "")
}

// Publish is the path of the example of a Go client, built as Kubizone builds.
func Publish(ctx context.Context, dir string) (string, error) {
	return buildProgram(ctx, dir, "api/examples/publish", "")
}

// Gardener is the path of kubizone-gardener, built into dir. It is a module of its own: where nothing of it was
// compiled yet, that takes minutes and the Go module proxy.
func Gardener(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "kubizone-gardener")
	_, err := runScript(ctx, "hack/gardener.sh", "build", "-ldflags", "-s -w", "-o", program, ".")
	return program, err
}

// buildProgram builds the program of a directory of this repository, where it is not built yet.
func buildProgram(ctx context.Context, dir, source, tag string) (string, error) {
	if shared := os.Getenv(Programs); shared != "" {
		dir = shared
	}
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	program := filepath.Join(dir, path.Base(source)+tag)
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	build := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-tags", tag, "-o", program+".new", "kubi.zone/kubizone/"+source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOGC=400") // what is shipped, linked with room for the linker
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", source, err, out)
	}
	return program, os.Rename(program+".new", program)
}
