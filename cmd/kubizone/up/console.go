// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

const consoleStop = 2 * time.Second

// clientBeside returns the path of kubectl-kubizone in the program's directory, or "" if it is absent. The error names
// the file or directory that another user may write, by a group too, as ssh asks of its keys.
func clientBeside(program string) (client string, err error) {
	client = filepath.Join(filepath.Dir(program), "kubectl-kubizone")
	if runtime.GOOS == "windows" {
		client += ".exe"
	}
	for _, path := range []string{client, filepath.Dir(client)} {
		info, err := os.Stat(path)
		// A program without a client beside, as in a container image, has no console, and no warning.
		if err != nil || path == client && !info.Mode().IsRegular() {
			return "", nil
		}
		if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
			return "", fmt.Errorf("others may write %s (mode %04o): chmod go-w", path, info.Mode().Perm())
		}
	}
	return client, nil
}

// startClientsConsole starts the console of the client beside this program, if only this user and root may replace it.
func (c *Config) startClientsConsole(ctx context.Context, all *parts, kubeconfig string) {
	program, err := os.Executable()
	if err != nil {
		return
	}
	client, err := clientBeside(program)
	if err != nil {
		c.printf("warning: no console: %v", err)
	}
	c.startConsole(ctx, all, client, kubeconfig)
}

// startConsole starts a part whose failure ends no other part.
func (c *Config) startConsole(ctx context.Context, all *parts, client, kubeconfig string) {
	if client == "" {
		return
	}
	all.startPart(ctx, "console", func(ctx context.Context) error {
		if err := c.runConsole(ctx, client, kubeconfig); err != nil && ctx.Err() == nil {
			c.printf("warning: no console: %s: %v; kubectl kubizone console --kubeconfig %s starts one", client, err, kubeconfig)
		}
		<-ctx.Done()
		return nil
	})
}

// runConsole runs the client's console as a child process until ctx ends, and prints the lines of the console. The end
// of standard input ends the console, and after consoleStop the process is killed.
func (c *Config) runConsole(ctx context.Context, client, kubeconfig string) error {
	file := filepath.Join(c.DataDir, "console.html")
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by a killed process
		return err
	}
	// kubizone up may run on a server, so no browser is opened.
	command := exec.CommandContext(ctx, client, "console", "--no-browser", "--with-parent", "--kubeconfig", kubeconfig, "--open-file", file)
	stdin, err := command.StdinPipe()
	if err != nil {
		return err
	}
	command.Cancel, command.WaitDelay = stdin.Close, consoleStop
	lines, printed := io.Pipe()
	command.Stdout, command.Stderr = printed, printed
	if err := command.Start(); err != nil {
		return err
	}
	go func() {
		for text := bufio.NewScanner(lines); text.Scan(); {
			c.printf("%s", text.Text())
		}
		_, _ = io.Copy(io.Discard, lines) // a longer line must not block the console
	}()
	err = command.Wait()
	_ = printed.Close()
	return err
}
