// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/test/must"
)

var noisy = flag.Duration("noisy", 0, "measure a quiet tenant's latency for so long, by turns alone and beside a noisy one, and fail where the noise doubles its p99, or skip it where others keep the machine busy; 0: only that it is served")

var noiseRate = flag.Int("noise-rate", 0, "how many requests a second the noisy tenant makes, of all kinds together; 0: as many as are answered")

// makeNoise runs every kind of a tenant's requests in parallel, as fast as answers and pace allow.
func (t *tenant) makeNoise(ctx context.Context, pace *rate.Limiter) (done map[string]*atomic.Int64, wait func()) {
	big := strings.Repeat("x", 3000)
	kinds := map[string]func(n int) error{
		"writes": func(n int) error {
			_, err := t.records().Patch(ctx, "noise", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"values":["%d"]}}`, n), metav1.PatchOptions{})
			return err
		},
		"lists": func(int) error {
			_, err := t.records().List(ctx, metav1.ListOptions{})
			return err
		},
		"entries": func(int) error {
			_, err := t.RESTClient().Get().Namespace(t.namespace).Resource("zones").Name("loud").SubResource("entries").Param("format", "text").DoRaw(ctx)
			return err
		},
		"refused writes": func(n int) error {
			if err := t.putRecord(ctx, "refused", "www.victim.example.", "A", "192.0.2.66"); err == nil {
				return fmt.Errorf("a write was not refused")
			}
			return nil
		},
		"dry runs": func(n int) error {
			_, err := t.records().Create(ctx, makeRecord(t.namespace, "dry", "dry.own.shared.example.", "TXT", fmt.Sprint(n)),
				metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return err
		},
		"big objects": func(n int) error {
			_, err := t.records().Patch(ctx, "big-noise", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"values":["%d%s"]}}`, n, big), metav1.PatchOptions{})
			return err
		},
	}
	done = map[string]*atomic.Int64{}
	var all sync.WaitGroup
	for kind, once := range kinds {
		count := &atomic.Int64{}
		done[kind] = count
		for range 2 {
			all.Go(func() {
				for n := 0; pace.Wait(ctx) == nil; n++ {
					if err := once(n); err == nil {
						count.Add(1)
					}
				}
			})
		}
	}
	return done, all.Wait
}

// noiseOf turns this program into a noisy tenant: namespace, pace and kubeconfig.
const noiseOf = "KUBIZONE_TEST_NOISE_OF"

// Main of this process ends after the end of input, once each kind was done, and prints the counts.
func makeNoise(of string) error {
	namespace, rest, _ := strings.Cut(of, " ")
	limit, kubeconfig, _ := strings.Cut(rest, " ")
	// A tenant's machine is separate: the process must not take CPU from the server and the measured tenant.
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19); err != nil {
		return err
	}
	t, err := (&arena{}).reachTenant(namespace, kubeconfig)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pace := rate.NewLimiter(rate.Inf, 1)
	if perSecond, err := strconv.Atoi(limit); err == nil && perSecond > 0 {
		pace.SetLimit(rate.Limit(perSecond))
	}
	done, wait := t.makeNoise(ctx, pace)
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	// On a busy machine, the input may end before every kind was done.
	for waitTimeout := time.Now().Add(time.Minute); time.Now().Before(waitTimeout); time.Sleep(10 * time.Millisecond) {
		if !slices.ContainsFunc(slices.Collect(maps.Values(done)), func(count *atomic.Int64) bool { return count.Load() == 0 }) {
			break
		}
	}
	cancel()
	wait()
	counts := map[string]int64{}
	for kind, count := range done {
		counts[kind] = count.Load()
	}
	return json.NewEncoder(os.Stdout).Encode(counts)
}

func (t *tenant) noiseElsewhere(test *testing.T, perSecond int) (silence func() map[string]int64) {
	test.Helper()
	process := exec.Command(must.Get(os.Executable())(test))
	process.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", noiseOf, t.namespace, perSecond, t.kubeconfig))
	process.Stderr = os.Stderr
	input := must.Get(process.StdinPipe())(test)
	var output bytes.Buffer
	process.Stdout = &output
	must.Succeed(test, process.Start())
	test.Cleanup(func() { _ = process.Process.Kill() })
	return func() map[string]int64 {
		test.Helper()
		_ = input.Close()
		must.Succeed(test, process.Wait())
		var done map[string]int64
		must.Succeed(test, json.Unmarshal(output.Bytes(), &done))
		return done
	}
}

func (t *tenant) changeQuietly(ctx context.Context, test *testing.T, changes int, until time.Time) (elapsed []time.Duration) {
	test.Helper()
	if err := t.putRecord(ctx, "quietvictim-calm", "calm.victim.example.", "TXT", "0"); err != nil && !apierrors.IsAlreadyExists(err) {
		test.Fatal(err)
	}
	for n := 0; n < changes || time.Now().Before(until); n++ {
		began := time.Now()
		if _, err := t.records().Patch(ctx, "quietvictim-calm", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"values":["%d"]}}`, time.Now().UnixNano()), metav1.PatchOptions{}); err != nil {
			test.Fatalf("the quiet tenant is not served: %v", err)
		}
		elapsed = append(elapsed, time.Since(began))
		time.Sleep(10 * time.Millisecond)
	}
	return elapsed
}

// loadAverage is over the last minute.
func loadAverage() (load float64, err error) {
	text, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, err = fmt.Sscan(string(text), &load)
	}
	return load, err
}

// requireIdleMachine skips the test on a busy machine. A process that waits for CPU waits longer the more it does,
// which would distort the measurement.
func requireIdleMachine(t *testing.T) {
	t.Helper()
	if load, cores := must.Get(loadAverage())(t), float64(runtime.NumCPU()); load > 2*cores {
		t.Skipf("load %.1f on %.0f processors: a p99 says nothing of this server while others take them", load, cores)
	}
}

func percentileOf(all []time.Duration, percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)*percent/100]
}

// A tenant writes, lists, exports, provokes refusals, and sends dry runs and big objects, as fast as possible. Another
// tenant is still served; with -noisy, its p99 may not double, provided that -noise-rate leaves capacity (attack 57).
func TestNoise_aQuietTenantIsServed(t *testing.T) {
	a := requireArena(t)
	ctx := within(t, 2*waitTimeout+2**noisy)
	calm, loud := a.tenants[victim], a.tenants[mallory]
	must.Succeed(t, loud.claimZone(ctx, "loud", "loud.example."))
	for _, name := range []string{"noise", "big-noise"} {
		must.Succeed(t, loud.putRecord(ctx, name, name+".own.shared.example.", "TXT", "0"))
	}
	for i := range 100 {
		must.Succeed(t, loud.putRecord(ctx, fmt.Sprintf("heap-%d", i), fmt.Sprintf("heap-%d.own.shared.example.", i), "TXT", "0"))
	}
	changes, rounds := 40, 1
	if *noisy > 0 {
		requireIdleMachine(t)
		changes, rounds = 200, 3
	}
	var alone, beside []time.Duration
	for range rounds {
		alone = append(alone, calm.changeQuietly(ctx, t, changes, time.Now().Add(*noisy/time.Duration(2*rounds)))...)
		silence := loud.noiseElsewhere(t, *noiseRate)
		beside = append(beside, calm.changeQuietly(ctx, t, changes, time.Now().Add(*noisy/time.Duration(2*rounds)))...)
		done := silence()
		for _, kind := range slices.Sorted(maps.Keys(done)) {
			if done[kind] == 0 {
				t.Errorf("no noise of this kind: %s", kind)
			}
			t.Logf("%s: %d", kind, done[kind])
		}
	}
	t.Logf("%d changes alone: p50 %s, p99 %s; %d beside the noise: p50 %s, p99 %s", len(alone), percentileOf(alone, 50),
		percentileOf(alone, 99), len(beside), percentileOf(beside, 50), percentileOf(beside, 99))
	if *noisy > 0 && percentileOf(beside, 99) >= 2*percentileOf(alone, 99) {
		t.Errorf("the noise raises p99 from %s to %s", percentileOf(alone, 99), percentileOf(beside, 99))
	}
}

// Attack 57, counted: while all seats are taken and many requests of a tenant wait, another tenant's request waits
// for only a few of them: flow control alternates between users.
func TestNoise_flowControlAlternates(t *testing.T) {
	a := requireArena(t)
	ctx := within(t, waitTimeout)
	server := a.startBeside(ctx, t, "--max-requests-inflight", "2", "--max-mutating-requests-inflight", "2")
	calm, loud := a.tenants[victim].tenantAt(t, server), a.tenants[mallory].tenantAt(t, server)
	must.Succeed(t, calm.putRecord(ctx, "quietvictim-turns", "turns.victim.example.", "TXT", "0"))
	const crowd = 100
	var answered atomic.Int64
	noise, silence := context.WithCancel(ctx)
	var all sync.WaitGroup
	for i := range crowd {
		all.Go(func() {
			for n := 0; noise.Err() == nil; n++ {
				_, err := loud.records().Create(noise, makeRecord(mallory, fmt.Sprintf("turn-%d", i),
					fmt.Sprintf("turn-%d.own.shared.example.", i), "TXT", fmt.Sprint(n)),
					metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				if err == nil {
					answered.Add(1)
				}
			}
		})
	}
	until(ctx, t, "the crowd is served", func() error {
		if answered.Load() < crowd {
			return fmt.Errorf("%d answers", answered.Load())
		}
		return nil
	})
	var before []int64
	for n := range 15 {
		from := answered.Load()
		if _, err := calm.records().Patch(ctx, "quietvictim-turns", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"values":["%d"]}}`, n+1), metav1.PatchOptions{}); err != nil {
			t.Fatalf("the quiet tenant is not served: %v", err)
		}
		before = append(before, answered.Load()-from)
	}
	silence()
	all.Wait()
	slices.Sort(before)
	t.Logf("of %d requests that waited, so many were answered before the quiet tenant's: %v", crowd, before)
	if median := before[len(before)/2]; median > crowd/4 {
		t.Errorf("half of the quiet tenant's requests waited for %d others and more", median)
	}
}

// The attacked zones have the right content.
func TestStore_isCleanAfterAllOfIt(t *testing.T) {
	a := requireArena(t)
	ctx := within(t, waitTimeout)
	until(ctx, t, "fsck", func() error { return a.runFsck(ctx) })
}
