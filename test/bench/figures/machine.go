// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package figures

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Callers calls f for 0 … n-1 in parallel, and returns the duration of each call and of all.
func Callers(ctx context.Context, callers, n int, f func(ctx context.Context, i int) error) ([]time.Duration, time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	elapsed := make([]time.Duration, n)
	var next atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for range callers {
		all.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				at := time.Now()
				if err := f(ctx, i); err != nil {
					cancel(err)
					return
				}
				elapsed[i] = time.Since(at)
			}
		})
	}
	all.Wait()
	total := time.Since(began)
	if ctx.Err() != nil {
		return nil, 0, context.Cause(ctx)
	}
	return elapsed, total, nil
}

// Quantile is in milliseconds. It sorts elapsed.
func Quantile(elapsed []time.Duration, q float64) float64 {
	slices.Sort(elapsed)
	return elapsed[min(len(elapsed)-1, int(q*float64(len(elapsed))))].Seconds() * 1e3
}

// Resident reads "VmRSS" or "VmHWM" of a process, in bytes.
func Resident(pid int, what string) (uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, what+":"); ok {
			kib, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no %s", pid, what)
}

// clockTicks is the unit of proc_pid_stat(5).
const clockTicks = 100

// CPU returns a process's CPU time, in hundredths of a second.
func CPU(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The program's name may have parentheses.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const user, system = 14 - 3, 15 - 3
	if len(fields) <= system {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	var ticks int64
	for _, field := range []string{fields[user], fields[system]} {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / clockTicks, nil
}

func FetchOverSocket(ctx context.Context, socket, page string) ([]byte, error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://socket"+page, nil)
	if err != nil {
		return nil, err
	}
	a, err := client.Do(q)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s%s: %s: %s", socket, page, a.Status, body)
	}
	return body, err
}

// SumCounters adds the matching series of a metric in Prometheus' text format. labels is "" or {a="b",…}.
func SumCounters(text []byte, name string, match func(labels string) bool) (sum float64, err error) {
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(line, name)
		i := strings.LastIndexByte(rest, ' ')
		if !ok || i < 0 || rest[0] != ' ' && rest[0] != '{' || !match(rest[:i]) {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(rest[i+1:]), 64)
		if err != nil {
			return 0, fmt.Errorf("metric %q: %w", line, err)
		}
		sum += v
	}
	return sum, nil
}

func LoadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}
