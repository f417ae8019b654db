// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Command is one command of a page, its lines joined, and what the page says it prints.
type Command struct{ Line, Output string }

// ReadConsole reads the console blocks of a page, or of its section of that heading: "$ " begins a command, "> "
// continues it, the rest is output.
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
