// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"time"
)

// ReadText reads a whole source and ends with ctx: opening a FIFO without a writer, and reading it, blocks forever.
// name is what the report calls the source.
func (l *Loader) ReadText(ctx context.Context, name string, read func() ([]byte, error)) ([]byte, error) {
	type answer struct {
		text []byte
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		text, err := read()
		answered <- answer{text, err}
	}()
	slow := time.NewTimer(l.cfg.Interval)
	defer slow.Stop()
	for {
		select {
		case a := <-answered:
			return a.text, a.err
		case <-slow.C:
			l.say("waiting for the end of %s; a pipe or terminal ends when its writer closes it", name)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
