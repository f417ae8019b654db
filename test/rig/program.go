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

// Programs names the directory of built programs, shared by a `make test`.
const Programs = "KUBIZONE_BIN"

// LongLease is for a test's only controller, which exits after half of the lease without a renewal: other tests can
// delay a renewal by seconds.
const LongLease = "--lease-duration=1m"

// RetrySoon sets retries after a second.
func RetrySoon() {
	if err := os.Setenv("DNS_RECORD_RETRY_BASE_DELAY", "1s"); err != nil {
		panic(err)
	}
}

// Kubizone is shared by this run, or built into dir. The tag faultpoints enables fault injection.
func Kubizone(ctx context.Context, dir, tag string) (string, error) {
	return buildProgram(ctx, dir, "cmd/kubizone", tag)
}

// Main runs a package's tests with a directory for the programs and servers that they share.
func Main(name string, run func(dir string) (code int, err error)) {
	dir, err := os.MkdirTemp("", "kubizone-"+name+"-")
	code := 1
	if err == nil {
		func() {
			defer os.RemoveAll(dir)
			code, err = run(dir)
		}()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func Client(ctx context.Context, dir string) (string, error) {
	return buildProgram(ctx, dir, "cmd/kubectl-kubizone", "")
}

func WebhookServer(ctx context.Context, dir string) (string, error) {
	return buildProgram(ctx, dir, "cmd/webhook-server", "")
}

func Publish(ctx context.Context, dir string) (string, error) {
	return buildProgram(ctx, dir, "api/examples/publish", "")
}

func MinimalController(ctx context.Context, dir string) (string, error) {
	return buildProgram(ctx, dir, "test/bench/peers/minimal", "")
}

// Gardener builds kubizone-gardener into dir. The first build takes minutes and needs the Go module proxy.
func Gardener(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "kubizone-gardener")
	_, err := runScript(ctx, "hack/gardener.sh", "build", "-ldflags", "-s -w", "-o", program, ".")
	return program, err
}

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
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOGC=400") // as shipped; GOGC=400 saves the linker time
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", source, err, out)
	}
	return program, os.Rename(program+".new", program)
}
