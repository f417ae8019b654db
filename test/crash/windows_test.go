// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package crash

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// windows are the kinds of transactions around which a server is killed: before sending, or after the commit and
// before the client has an answer. The definition, from which they are parsed, is built only with fault points.
var windows = sync.OnceValue(func() (kinds []string) {
	file, err := parser.ParseFile(token.NewFileSet(), "../faults/kind.go", nil, 0)
	if err != nil {
		panic(err)
	}
	for _, d := range file.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.CONST {
			for _, spec := range d.Specs {
				kind, err := strconv.Unquote(spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
				if err != nil {
					panic(err)
				}
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
})

// between are points named by the ledger, between two transactions of the same operation.
var between = []string{"cascade-finish"}

// A server is killed before or after each kind of transaction, under load, while a second server continues (F1).
// Afterwards no acknowledged write is lost, and fsck is clean.
func TestF01_serverKilledInEveryWindow(t *testing.T) {
	w := requireWorld(t)
	ctx := within(t, 5*waitTimeout)
	e := startEtcd(ctx, t, 1, false)
	steady, doomed := w.startServer(ctx, t, e.listEndpoints()), w.startServer(ctx, t, e.listEndpoints())
	l := w.startLoad(ctx, t, steady, doomed)
	points := []string{
		"record-put-after:9", "record-delete-before:2", "record-plain-after:2", "batch-before:2", "batch-after:3", "zone-put-before:2",
		"zone-delete-after:2",
		"cascade-first-after:2", "cascade-step-before:5", "cascade-last-before:2", "debt-paid-before:2", "other-after:2",
	}
	for _, kind := range windows() {
		if !slices.ContainsFunc(points, func(point string) bool {
			return strings.HasPrefix(point, kind+"-before:") || strings.HasPrefix(point, kind+"-after:")
		}) {
			t.Errorf("no server is killed around a transaction of the kind %s", kind)
		}
	}
	if *soak > 0 {
		points = nil
		for _, kind := range windows() {
			points = append(points, kind+"-before:3", kind+"-after:2")
		}
		for _, point := range between {
			points = append(points, point+":2")
		}
	}
	for _, point := range points {
		doomed.diesAt(ctx, t, point)
	}
	doomed.startReplica(ctx, t)
	w.checkAll(ctx, t, l, e, steady, doomed)
}

func (r *replica) diesAt(ctx context.Context, t *testing.T, point string) {
	t.Helper()
	began := time.Now()
	if !r.mayDieAt(ctx, t, point) {
		t.Fatalf("nothing came to %s", point)
	}
	t.Logf("killed at %s after %s", point, time.Since(began).Round(time.Millisecond))
}

// mayDieAt restarts the server with a fault, and reports whether the fault killed it before ctx ended.
func (r *replica) mayDieAt(ctx context.Context, t *testing.T, point string) bool {
	t.Helper()
	place, _, _ := strings.Cut(point, ":")
	r.Kill()
	r.config.Env = []string{"KUBIZONE_FAULT=" + point + ":kill"}
	server, err := kuberig.StartServer(ctx, r.dir, r.config)
	message := ""
	if err != nil {
		message = err.Error()
	} else {
		r.Server = server
		select {
		case <-r.Ended():
		case <-ctx.Done():
			return false
		}
		message = r.Log()
	}
	if !strings.Contains(message, "fault: kill at "+place) {
		t.Fatalf("it ended for another reason than %s:\n%s", place, keepLastLines(message, 20))
	}
	return true
}

// Transactions succeed, but etcd's answers to a server are lost (F1). The server knows no more than a client: it must
// drop cached facts that may have changed, and report the outcome as unknown.
func TestF01_answersOfEtcdAreLost(t *testing.T) {
	w := requireWorld(t)
	ctx := within(t, 3*waitTimeout)
	e := startEtcd(ctx, t, 1, false)
	var lost []string
	for _, point := range []string{"record-put", "record-put:10", "record-delete", "batch", "batch:7", "zone-put", "cascade-first", "cascade-step", "cascade-last", "debt-paid"} {
		kind, n, _ := strings.Cut(point, ":")
		if n == "" {
			n = "2"
		}
		lost = append(lost, kind+"-after:"+n+":lose")
	}
	armed := filepath.Join(t.TempDir(), "armed")
	one, other := w.startServer(ctx, t, e.listEndpoints(), "KUBIZONE_FAULT="+strings.Join(lost, ","), "KUBIZONE_FAULT_WITH="+armed),
		w.startServer(ctx, t, e.listEndpoints())
	l := w.startLoad(ctx, t, one, other)
	must.Succeed(t, os.WriteFile(armed, nil, 0o600))
	until(ctx, t, "all answers were lost", func() error {
		for _, fault := range lost {
			point, _, _ := strings.Cut(fault, ":")
			if !strings.Contains(one.Log(), "fault: lose at "+point) {
				return errNot(point)
			}
		}
		return nil
	})
	l.waitAcked(ctx, t, 50)
	w.checkAll(ctx, t, l, e, one, other)
}

type errNot string

func (e errNot) Error() string { return "not yet at " + string(e) }
