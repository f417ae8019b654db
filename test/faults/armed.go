// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build faultpoints

package faults

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/apiserver"
)

func init() {
	apiserver.Faults.At = func(point string) { plan().passPoint(point) }
	apiserver.Faults.Now = shiftedNow
	apiserver.Faults.KV = func(kv clientv3.KV, prefix string) clientv3.KV { return &pointed{KV: kv, prefix: prefix} }
}

type fault struct {
	point  string
	left   int
	action string
}

type faults struct {
	mu  sync.Mutex
	all []*fault
}

// An invalid plan ends the server: the test must not wait in vain.
var plan = sync.OnceValue(func() *faults {
	p := &faults{}
	text := os.Getenv("KUBIZONE_FAULT")
	if text == "" {
		return p
	}
	for _, one := range strings.Split(text, ",") {
		parts := strings.Split(one, ":")
		n, err := 0, error(nil)
		if len(parts) == 3 {
			n, err = strconv.Atoi(parts[1])
		}
		if n < 1 || err != nil || parts[2] != "kill" && parts[2] != "stop" && parts[2] != "lose" {
			klog.Fatalf("KUBIZONE_FAULT=%s: %q is not POINT:N:kill|stop|lose", text, one)
		}
		p.all = append(p.all, &fault{parts[0], n, parts[2]})
	}
	return p
})

func (p *faults) passPoint(point string) (lose bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.all {
		if f.point != point {
			continue
		}
		if path := os.Getenv("KUBIZONE_FAULT_WITH"); path != "" {
			if _, err := os.Stat(path); err != nil {
				continue
			}
		}
		if f.left--; f.left != 0 {
			continue
		}
		fmt.Fprintf(os.Stderr, "fault: %s at %s\n", f.action, point)
		switch f.action {
		case "kill":
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		case "stop":
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			time.Sleep(10 * time.Millisecond) // a thread may run for a moment after SIGSTOP
		case "lose":
			lose = true
		}
	}
	return lose
}

func shiftedNow() time.Time {
	off := time.Duration(0)
	if path := os.Getenv("KUBIZONE_CLOCK"); path != "" {
		text, err := os.ReadFile(path)
		if err == nil {
			off, err = time.ParseDuration(strings.TrimSpace(string(text)))
		}
		if err != nil {
			klog.Fatalf("KUBIZONE_CLOCK=%s: %v", path, err)
		}
	}
	return time.Now().Add(off)
}

type pointed struct {
	clientv3.KV
	prefix string
}

func (p *pointed) Txn(ctx context.Context) clientv3.Txn {
	return &transaction{Txn: p.KV.Txn(ctx), prefix: p.prefix}
}

type transaction struct {
	clientv3.Txn
	prefix string
	cmps   []clientv3.Cmp
	then   []clientv3.Op
}

func (t *transaction) If(cmps ...clientv3.Cmp) clientv3.Txn {
	t.Txn, t.cmps = t.Txn.If(cmps...), cmps
	return t
}

func (t *transaction) Then(ops ...clientv3.Op) clientv3.Txn {
	t.Txn, t.then = t.Txn.Then(ops...), ops
	return t
}

func (t *transaction) Else(ops ...clientv3.Op) clientv3.Txn {
	t.Txn = t.Txn.Else(ops...)
	return t
}

func (t *transaction) Commit() (*clientv3.TxnResponse, error) {
	kind := kindOf(t.prefix, t.cmps, t.then)
	if kind == "" {
		return t.Txn.Commit()
	}
	plan().passPoint(kind + "-before")
	r, err := t.Txn.Commit()
	if err == nil && r.Succeeded && plan().passPoint(kind+"-after") {
		return nil, status.Error(codes.Unavailable, "the answer was lost (a fault of a test)")
	}
	return r, err
}
