// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// StoryEnvironment returns the environment of a story's programs.
func StoryEnvironment(ts *testscript.TestScript) (env []string) {
	for _, name := range []string{"PATH", "HOME", "TZ", "GOGC", "TMPDIR", "KUBECONFIG"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	return env
}

// RunUntil returns the command until [-not] PATTERN PROGRAM [ARG...], which runs the program until its output matches
// (or no longer matches).
func RunUntil(limit time.Duration) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		absent := len(args) > 0 && args[0] == "-not"
		if absent {
			args = args[1:]
		}
		if neg || len(args) < 2 {
			ts.Fatalf("usage: until [-not] PATTERN PROGRAM [ARG...]")
		}
		pattern, err := regexp.Compile("(?m)" + args[0])
		ts.Check(err)
		for begin := time.Now(); ; Pause(begin) {
			asked := time.Now()
			cmd := exec.Command("env", args[1:]...) // env finds the program in the story's PATH
			cmd.Dir, cmd.Env = ts.MkAbs("."), StoryEnvironment(ts)
			out, _ := cmd.CombinedOutput()
			if pattern.Match(out) != absent {
				fmt.Fprintf(ts.Stdout(), "%s", out)
				ts.Logf("[after %s]", time.Since(begin).Round(time.Millisecond))
				return
			}
			if asked.Sub(begin) > limit {
				ts.Fatalf("%s: never so within %s; last output:\n%s", strings.Join(args, " "), limit, out)
			}
		}
	}
}

// RunWithin is the command within DURATION [-not] PATTERN PROGRAM [ARG...]: until with another limit of time.
func RunWithin(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 {
		ts.Fatalf("usage: within DURATION [-not] PATTERN PROGRAM [ARG...]")
	}
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	RunUntil(limit)(ts, neg, args[1:])
}
