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

// searched are the places beside PATH where distributions put servers.
var searched = []string{"/usr/sbin", "/usr/local/sbin", "/usr/local/bin", "/usr/bin", "/sbin", "/bin"}

// Missing is the reason that a test which needs a program is skipped.
type Missing struct {
	Program string
	In      string // where it was looked for; empty: PATH and the places beside it
	Install string // the command that brings it
}

func (m *Missing) Error() string {
	in := m.In
	if in == "" {
		in = fmt.Sprintf("PATH or %v", searched)
	}
	return fmt.Sprintf("%s is not in %s; %s brings it", m.Program, in, m.Install)
}

// Find is the path of a program, or a *Missing.
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

// TB is what the rig needs of a *testing.T or *testing.B.
type TB interface {
	Helper()
	Cleanup(func())
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// RequireAll names the environment variable that turns a skip into a failure, for machines that are meant to have
// everything: `make test` sets it.
const RequireAll = "KUBIZONE_TEST_REQUIRE_ALL"

// Skips reports whether err is a *Missing for which a test is skipped.
func Skips(err error) bool {
	m, ok := errors.AsType[*Missing](err)
	return ok && (os.Getenv(RequireAll) == "" || ofLongAlone(m.Program))
}

// SkipMissing skips the test with the reason if Skips, fails it for every other error, and does nothing for nil.
func SkipMissing(t TB, err error) {
	t.Helper()
	if Skips(err) {
		t.Skipf("%v", err)
	} else if err != nil {
		t.Fatalf("%v", err)
	}
}

// Need returns what a test needs. The test is skipped, with the reason, where a program for it is missing.
func Need[T any](value T, err error) func(TB) T {
	return func(t TB) T {
		t.Helper()
		SkipMissing(t, err)
		return value
	}
}

// NeedServer is Need for a server, which is closed when the test ends.
func NeedServer[T io.Closer](server T, err error) func(TB) T {
	return func(t TB) T {
		t.Helper()
		SkipMissing(t, err)
		t.Cleanup(func() { _ = server.Close() })
		return server
	}
}

// Process is a server that the rig started. It is ended by its own id and by no other way.
type Process struct {
	cmd   *exec.Cmd
	out   *tail
	ended chan struct{} // closed when it has been waited for
	err   error         // of the wait; valid once ended
}

// StartProcess starts a program in dir; env is what it has in its environment beside what this process has.
func StartProcess(env []string, dir, path string, args ...string) (*Process, error) {
	command := exec.Command(path, args...)
	command.Dir = dir
	command.Env = append(os.Environ(), env...)
	return StartCommand(command)
}

// StartCommand starts a command as StartProcess does.
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

// Log is what it wrote so far (its last megabyte at least).
func (p *Process) Log() string { return p.out.String() }

// Pid is the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Signal sends a signal to the process.
func (p *Process) Signal(signal os.Signal) error { return p.cmd.Process.Signal(signal) }

// Pause makes it stand still with its connections open, until SIGCONT, and returns when it does. Where others have
// the processors it runs for a while after the signal was sent.
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

// Ended is closed when the process is gone, however that came.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Err is how it ended, once Ended is closed.
func (p *Process) Err() error { return p.err }

// Kill ends it as a power failure does.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.ended
}

// End asks it to stop and kills it when it does not within five seconds.
func (p *Process) End() {
	p.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(5 * time.Second):
		p.Kill()
	}
}

// tail keeps the last megabyte that a process wrote.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const maxTail = 1 << 20

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
