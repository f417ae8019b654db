// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

type Command struct{ Line, Output string }

// ReadConsole reads the console blocks of a page or section: "$ " begins a command, "> " continues it.
func ReadConsole(path, heading string) ([]Command, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	section := string(text)
	if heading != "" {
		_, after, found := strings.Cut(section, "\n## "+heading+"\n")
		if !found {
			return nil, fmt.Errorf("%s has no section %q", path, heading)
		}
		section, _, _ = strings.Cut(after, "\n## ")
	}
	var commands []Command
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(section, -1) {
		for line := range strings.Lines(block[1]) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				commands = append(commands, Command{Line: command})
			} else if len(commands) == 0 {
				return nil, fmt.Errorf("%s: output before any command: %q", path, line)
			} else if more, ok := strings.CutPrefix(line, "> "); ok {
				commands[len(commands)-1].Line += more
			} else {
				commands[len(commands)-1].Output += line
			}
		}
	}
	return commands, nil
}

func ReadObjects(path string) (objects []string, err error) {
	text, err := os.ReadFile(path)
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		objects = append(objects, block[1])
	}
	return objects, err
}

// Shell runs commands in bash, with Dir first in PATH.
type Shell struct{ Dir, Kubeconfig string }

func (s Shell) Run(ctx context.Context, line, input string) (string, error) {
	command := exec.CommandContext(ctx, "bash", "-c", line)
	command.Dir, command.Stdin = s.Dir, strings.NewReader(input)
	command.Env = append(os.Environ(), "PATH="+s.Dir+":"+os.Getenv("PATH"), "KUBECONFIG="+s.Kubeconfig)
	output, err := command.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("$ %s: %w\n%s", line, err, output)
	}
	return string(output), err
}
