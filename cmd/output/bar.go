// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"kubi.zone/kubizone/pkg/kit/terminal"
)

const (
	barDelay  = 2 * time.Second
	barPause  = 200 * time.Millisecond
	barLength = 30
)

type Bar struct {
	mu          sync.Mutex
	label       string
	done, total int
	stop        chan struct{}
	waitGroup   sync.WaitGroup
}

// StartBar begins a bar on stderr, visible after two seconds.
func StartBar(stderr io.Writer, label string) *Bar {
	b := &Bar{label: label, stop: make(chan struct{})}
	to, ok := stderr.(*Writer)
	// Not a terminal: End has nothing to erase.
	if !ok || to.screen.Width == 0 {
		return b
	}
	b.waitGroup.Go(func() { b.showOn(to) })
	return b
}

func (b *Bar) Write(octets []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done += len(octets)
	return len(octets), nil
}

func (b *Bar) Set(done, of int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done, b.total = done, of
}

func (b *Bar) End() {
	close(b.stop)
	b.waitGroup.Wait()
}

// showOn draws the bar on a terminal, first after barDelay and then each barPause, until End. A bar that was drawn is
// erased.
func (b *Bar) showOn(to *Writer) {
	begun, shown := time.Now(), false
	timer := time.NewTimer(barDelay)
	defer timer.Stop()
	for {
		select {
		case <-b.stop:
			if shown {
				_, _ = io.WriteString(to.raw, "\r\x1b[K")
			}
			return
		case <-timer.C:
			shown = true
			// Past the escapes of Writer, since the line has control sequences of its own.
			_, _ = io.WriteString(to.raw, "\r"+b.drawLine(to.screen.Width, time.Since(begun))+"\x1b[K")
			timer.Reset(barPause)
		}
	}
}

// drawLine returns the line of the bar, cut at the width. Without a total, the line has only the number.
func (b *Bar) drawLine(width int, since time.Duration) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	counts := ""
	switch {
	case b.total > 0:
		full := barLength * min(b.done, b.total) / b.total
		counts = fmt.Sprintf(" [%s%s] %d of %d", strings.Repeat("#", full), strings.Repeat(" ", barLength-full), b.done, b.total)
	case b.done > 0:
		counts = fmt.Sprint(" ", b.done)
	}
	line := []rune(fmt.Sprintf("%s%s, %s", terminal.Escape(b.label), counts, since.Round(time.Second)))
	return string(line[:min(len(line), width-1)])
}
