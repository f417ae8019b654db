// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/cmd/kubizone/app"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/zone/etcd/embed"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/bench/figures"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/store"
)

// program makes this binary the measured kubizone.
const program = "KUBIZONE_BENCH_PROGRAM"

func TestMain(m *testing.M) {
	if started, err := fillIfAsked(); started {
		exitWith(err)
		os.Exit(0)
	}
	if os.Getenv(program) != "" {
		os.Exit(app.Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// chooseSize returns the number of records in the big zone: 20,000 in the long form.
func chooseSize() int {
	if rig.Long() {
		return 20_000
	}
	return 4000
}

// The test compares counts, which do not depend on the machine: a write in a large zone makes as many allocations as in
// a zone of a thousand records, and a server buffers no content for a reader in the middle of a list.
func TestRun_costsNoMoreInABigZone(t *testing.T) {
	if testing.Short() {
		t.Skip("starts five servers")
	}
	self := must.Get(os.Executable())(t)
	t.Setenv(program, "yes")
	dir := t.TempDir()
	p := plan{
		Sizes: []int{1000, chooseSize()}, Rounds: 1, Writes: 10, Burst: 200, Rest: time.Second, Program: self,
		Fixtures: filepath.Join(dir, "fixtures"), Dir: dir,
	}
	r := figures.New(chooseSize())
	must.Succeed(t, p.runPlan(t.Context(), r))
	median := func(name string) float64 {
		t.Helper()
		v, ok := r.Median(name)
		if !ok {
			t.Errorf("%s was not measured", name)
		}
		return v
	}
	for _, op := range []string{"create", "delete"} {
		if got := median(nameFigure(chooseSize(), op+" allocations ÷ small")); got > 1.1 {
			t.Errorf("a %s makes %.2f times as many allocations as in a zone of a thousand records", op, got)
		}
	}
	for _, way := range reads {
		// Octets in flight to the reader, and noise. The zone has 1.2 MB, and twice that in a grown buffer.
		if got := median(nameFigure(chooseSize(), way.what+" holds")); got > 1 {
			t.Errorf("halfway through %s the server holds %.2f MB for the reader", way.what, got)
		}
	}
	var out bytes.Buffer
	report{r, p}.printReport(&out)
	for _, want := range []string{fmt.Sprintf("| one zone of | 1000 | %d |", chooseSize()), fmt.Sprintf("octets for a record, 1000 to %d",
		chooseSize())} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in the report:\n%s", want, out.String())
		}
	}
	t.Run("start", func(t *testing.T) { startReadsOnce(t, p.Fixtures) })
}

// startReadsOnce: a starting server reads each object once, in pages, and has the zone that matches its hash (I2).
func startReadsOnce(t *testing.T, fixtures string) {
	kept := must.Get(fixture{records: chooseSize()}.keepSnapshot(t.Context(), fixtures))(t)
	path := t.TempDir()
	dir := must.Get(embed.OpenDir(path, 0))(t)
	defer dir.Close()
	must.Succeed(t, dir.Restore(embed.Snapshot{Path: kept}))
	etcd := must.Get(embed.Start(t.Context(), embed.Config{Dir: dir}))(t)
	defer etcd.Stop()
	client := must.Get(clientv3.New(clientv3.Config{Endpoints: etcd.Endpoints()}))(t)
	defer client.Close()
	counted := &counting{KV: client.KV, of: map[string]int{}}
	client.KV = counted
	l, err := ledger.Open(t.Context(), ledger.Config{Client: client, Prefix: apiserver.Prefix, Zones: store.Codec(), Records: store.Codec()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	seen := &sink{ready: cancel}
	if err := l.Follow(ctx, seen); err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	counted.Lock()
	defer counted.Unlock()
	if got := counted.of["records"]; got != chooseSize() {
		t.Errorf("%d records were read", got)
	}
	if got := counted.of["zones"]; got != 2 {
		t.Errorf("%d zones were read", got)
	}
	if counted.streams != 3 { // zones, records, cuts: for pages, etcd would count each to the end
		t.Errorf("%d streams", counted.streams)
	}
	if counted.requests > 20 {
		t.Errorf("%d requests beside the streams", counted.requests)
	}
	found := false
	for _, b := range seen.bases {
		s := zoneview.NewSnapshot(zoneview.Zone{UID: b.Zone.UID}, b.Zone.Header, b.Zone.Serial, b.Zone.N, b.Zone.State,
			slices.Values(b.RRsets))
		if err := s.Prove(); err != nil || s.Hash() != b.Hash {
			t.Errorf("%s: hash %s, %s in its zone: %v", s.FQDN(), s.Hash(), b.Hash, err)
		}
		found = found || s.FQDN().String() == bigName && s.Len() == chooseSize()
	}
	if !found {
		t.Errorf("%s is not there with %d rows", bigName, chooseSize())
	}
}

type sink struct {
	bases []ledger.Base
	ready func()
}

func (s *sink) Reset()                                  { s.bases = nil }
func (s *sink) Base(b ledger.Base)                      { s.bases = append(s.bases, b) }
func (s *sink) Unreadable(string, string, error)        {}
func (s *sink) Ready()                                  { s.ready() }
func (s *sink) Apply(uid string, _ content.Transaction) {}

// counting counts etcd's answers: objects by kind, and requests.
type counting struct {
	clientv3.KV
	sync.Mutex
	of                map[string]int
	requests, streams int
}

func (c *counting) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	r, err := c.KV.Get(ctx, key, opts...)
	if err == nil {
		c.Lock()
		c.requests++
		c.Unlock()
		c.countKeys(r.Kvs)
	}
	return r, err
}

func (c *counting) GetStream(ctx context.Context, key string, opts ...clientv3.OpOption) (clientv3.GetStreamChan, error) {
	from, err := c.KV.GetStream(ctx, key, opts...)
	if err != nil {
		return nil, err
	}
	c.Lock()
	c.streams++
	c.Unlock()
	to := make(chan clientv3.RangeStreamResponse)
	go func() {
		defer close(to)
		for r := range from {
			if r.Err() == nil {
				c.countKeys(r.Kvs)
			}
			to <- r
		}
	}()
	return to, nil
}

func (c *counting) countKeys(kvs []*mvccpb.KeyValue) {
	c.Lock()
	defer c.Unlock()
	for _, kv := range kvs {
		if rest, ok := strings.CutPrefix(string(kv.Key), apiserver.Prefix+"/kubi.zone/"); ok {
			kind, _, _ := strings.Cut(rest, "/")
			c.of[kind]++
		}
	}
}
