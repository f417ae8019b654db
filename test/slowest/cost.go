// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

// cost is the processor time of go and of all processes below it that ended.
type cost struct {
	all                     time.Duration
	compiling, linking, vet time.Duration
	linked                  int // programs
}

// action is a step of the go command, in the file of -debug-actiongraph (cmd/go/internal/work.actionJSON).
type action struct {
	Mode            string
	CmdUser, CmdSys time.Duration // of the compiler or linker; absent if Go's cache had the result
}

// addCost adds the cost of an ended go command. The graph file has the time of each compiler and linker. The file is an
// aid of Go's developers: without the file, that time counts as the tests'.
func (r *report) addCost(ended *os.ProcessState, graph string) {
	if ended == nil {
		return
	}
	c := cost{all: ended.UserTime() + ended.SystemTime()}
	if data, err := os.ReadFile(graph); err == nil {
		c.addActions(data)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cost.all += c.all
	r.cost.compiling += c.compiling
	r.cost.linking += c.linking
	r.cost.vet += c.vet
	r.cost.linked += c.linked
}

func (c *cost) addActions(graph []byte) {
	var actions []action
	if json.Unmarshal(graph, &actions) != nil {
		return
	}
	for _, a := range actions {
		took := a.CmdUser + a.CmdSys
		switch {
		case a.Mode == "link" && took > 0:
			c.linking += took
			c.linked++
		case a.Mode == "vet":
			c.vet += took
		default:
			c.compiling += took
		}
	}
}

func (c *cost) print(out io.Writer, took time.Duration) {
	if c.all == 0 {
		return
	}
	tests := c.all - c.compiling - c.linking - c.vet
	fmt.Fprintf(out, "%.0f s, and %.0f s of a processor: compiling %.0f, linking %d programs %.0f, vet %.0f, tests %.0f\n",
		took.Seconds(), c.all.Seconds(), c.compiling.Seconds(), c.linked, c.linking.Seconds(), c.vet.Seconds(), tests.Seconds())
}
