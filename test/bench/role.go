// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"syscall"
	"time"

	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/kit/memory"
	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/bench/member"
)

const roleVariable = "KUBIZONE_BENCH_ROLE"

type role struct {
	Kind     string
	Dir      string
	Etcd     string
	SlowDisk time.Duration
	Plain    bool
}

// places is a process's ready message, a JSON line.
type places struct {
	// Control is the unix socket for control requests.
	Control         string
	Etcd            string
	API, Kubeconfig string
}

func playRole() (played bool, err error) {
	text := os.Getenv(roleVariable)
	if text == "" {
		return false, nil
	}
	quietLog("ERROR")
	var r role
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return true, fmt.Errorf("%s: %w", roleVariable, err)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop(context.Canceled)
	}()
	if r.Kind == "etcd" {
		err = member.Serve(ctx, r.Dir, func(endpoint string) error { return r.announceReady(places{Etcd: endpoint}) })
	} else {
		err = r.runServer(ctx, stop)
	}
	if err != nil {
		err = fmt.Errorf("%s in %s: %w", r.Kind, r.Dir, err)
	}
	return true, err
}

func quietLog(least string) {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"logtostderr": "false", "stderrthreshold": least} {
		_ = flags.Set(name, value)
	}
	klog.SetOutput(io.Discard)
}

func (r role) runServer(ctx context.Context, stop context.CancelCauseFunc) error {
	memory.SpareHeap()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	bundle, err := pki.Open(filepath.Join(r.Dir, "pki"), pki.Hosts("127.0.0.1"), time.Now())
	if err != nil {
		return err
	}
	url := "https://" + listener.Addr().String()
	kubeconfig, err := bundle.Kubeconfig(url)
	if err != nil {
		return err
	}
	at := places{API: url, Kubeconfig: filepath.Join(r.Dir, "kubeconfig")}
	if err := pki.WriteFile(at.Kubeconfig, kubeconfig); err != nil {
		return err
	}
	zones := zoneview.NewSet(zoneview.Config{})
	open := apiserver.New
	if r.Plain {
		open = apiserver.NewPlain
	}
	server, err := open(ctx, apiserver.Config{
		Listener: listener, ServingCert: bundle.ServingCert, ServingKey: bundle.ServingKey, ClientCA: bundle.CA,
		Etcd: storagebackend.TransportConfig{ServerList: []string{r.Etcd}}, Zones: zones,
	})
	if err != nil {
		return err
	}
	defer server.Close()
	ended := runTogether(ctx, stop, server.RunLedger, server.Run)
	if err := server.WaitForAPI(ctx); err != nil {
		return err
	}
	if err := r.announceReady(at); err != nil {
		return err
	}
	return ended()
}

func runTogether(ctx context.Context, stop context.CancelCauseFunc, runs ...func(context.Context) error) func() error {
	done := make(chan struct{}, len(runs))
	for _, run := range runs {
		go func() {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				stop(err)
			}
			done <- struct{}{}
		}()
	}
	return func() error {
		for range runs {
			<-done
		}
		if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}
}

func (r role) announceReady(at places) error {
	at.Control = filepath.Join(r.Dir, "control")
	listener, err := net.Listen("unix", at.Control)
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(listener, serveControls()) }()
	return json.NewEncoder(os.Stdout).Encode(at)
}

type counters struct {
	Mallocs, AllocBytes uint64
	CPU                 time.Duration
}

func serveControls() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/counters", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(countUses())
	})
	mux.HandleFunc("/collect", func(http.ResponseWriter, *http.Request) { collectGarbage() })
	mux.HandleFunc("/cpu/start", func(w http.ResponseWriter, q *http.Request) {
		f, err := os.Create(q.URL.Query().Get("file"))
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		writeAnswer(w, err)
	})
	mux.HandleFunc("/cpu/stop", func(http.ResponseWriter, *http.Request) { pprof.StopCPUProfile() })
	mux.HandleFunc("/allocations", func(w http.ResponseWriter, q *http.Request) {
		f, err := os.Create(q.URL.Query().Get("file"))
		if err == nil {
			defer f.Close()
			err = pprof.Lookup("allocs").WriteTo(f, 0)
		}
		writeAnswer(w, err)
	})
	return mux
}

func writeAnswer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func countUses() counters {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return counters{Mallocs: m.Mallocs, AllocBytes: m.TotalAlloc, CPU: time.Duration(u.Utime.Nano() + u.Stime.Nano())}
}

// Objects with a finalizer or cleanup are freed the second time.
func collectGarbage() {
	runtime.GC()
	runtime.GC()
	debug.FreeOSMemory()
}
