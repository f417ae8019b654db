// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

var searched = []string{"/usr/sbin", "/usr/local/sbin", "/usr/local/bin", "/usr/bin", "/sbin", "/bin"}

type Missing struct {
	Program string
	In      string // "" means PATH and searched
	Install string
}

func (m *Missing) Error() string {
	in := m.In
	if in == "" {
		in = fmt.Sprintf("PATH or %v", searched)
	}
	return fmt.Sprintf("%s is not in %s; %s brings it", m.Program, in, m.Install)
}

func Find(program, install string) (string, error) {
	if ofLongAlone(program) {
		return "", &Missing{Program: program, In: "the programs of this run", Install: install}
	}
	if path, err := exec.LookPath(program); err == nil {
		return filepath.Abs(path)
	}
	for _, dir := range searched {
		path := filepath.Join(dir, program)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", &Missing{Program: program, Install: install}
}

// TB is the used part of *testing.T and *testing.B.
type TB interface {
	Helper()
	Cleanup(func())
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// RequireAll turns skips into failures, as in `make test`.
const RequireAll = "KUBIZONE_TEST_REQUIRE_ALL"

func Skips(err error) bool {
	m, ok := errors.AsType[*Missing](err)
	return ok && (os.Getenv(RequireAll) == "" || ofLongAlone(m.Program))
}

// SkipMissing skips the test if Skips(err), and fails it on another error.
func SkipMissing(t TB, err error) {
	t.Helper()
	if Skips(err) {
		t.Skipf("%v", err)
	} else if err != nil {
		t.Fatalf("%v", err)
	}
}

// Need skips the test if a program is missing.
func Need[T any](value T, err error) func(TB) T {
	return func(t TB) T {
		t.Helper()
		SkipMissing(t, err)
		return value
	}
}

// NeedServer is Need, and closes the server after the test.
func NeedServer[T io.Closer](server T, err error) func(TB) T {
	return func(t TB) T {
		t.Helper()
		SkipMissing(t, err)
		t.Cleanup(func() { _ = server.Close() })
		return server
	}
}

type Process struct {
	cmd   *exec.Cmd
	out   *tail
	ended chan struct{}
	err   error // valid once ended is closed
}

// StartProcess adds env to this process's.
func StartProcess(env []string, dir, path string, args ...string) (*Process, error) {
	command := exec.Command(path, args...)
	command.Dir = dir
	command.Env = append(os.Environ(), env...)
	return StartCommand(command)
}

func StartCommand(command *exec.Cmd) (*Process, error) {
	p := &Process{cmd: command, out: &tail{}, ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	if p.cmd.SysProcAttr == nil {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	setAttributes(p.cmd.SysProcAttr)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// RunProcess ends the process after the test, and then logs its output if the test has failed.
func RunProcess(t interface {
	TB
	TempDir() string
	Failed() bool
	Logf(format string, args ...any)
}, path string, args ...string) *Process {
	t.Helper()
	p, err := StartProcess(nil, t.TempDir(), path, args...)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		p.End() // SIGTERM releases a Lease, for which the next test would wait
		if message := p.Log(); t.Failed() {
			t.Logf("%s %s said:\n%s", filepath.Base(path), args[0], message[max(0, len(message)-20_000):])
		}
	})
	return p
}

// Log has at least the last eight megabytes.
func (p *Process) Log() string { return p.out.String() }

func (p *Process) Pid() int { return p.cmd.Process.Pid }

func (p *Process) Signal(signal os.Signal) error { return p.cmd.Process.Signal(signal) }

// Pause stops the process until SIGCONT, with open connections, and returns once all threads are stopped.
func (p *Process) Pause() error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for limit := time.Now().Add(time.Minute); !isStopped(p.Pid()); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			return fmt.Errorf("%s does not stand still", p.cmd.Path)
		}
	}
	return nil
}

func (p *Process) Ended() <-chan struct{} { return p.ended }

func (p *Process) Err() error { return p.err }

// Kill sends SIGKILL and waits.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.ended
}

// End sends SIGTERM, and SIGKILL after five seconds.
func (p *Process) End() {
	p.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(5 * time.Second):
		p.Kill()
	}
}

type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const maxTail = 8 << 20

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(b)
	if over := t.buf.Len() - maxTail; over > maxTail {
		t.buf.Next(over)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}
