// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/test/bench/figures"
	"kubi.zone/kubizone/test/rig"
)

// The whole benchmark on the smallest scale. Times mean nothing here; counts do: while nothing changes, fleet,
// controller and primary ask for nothing but their Leases, and a server without an own change is applied no more.
func TestRun_asksForNothingWhileNothingChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a control plane and a fleet")
	}
	if os.Geteuid() != 0 {
		t.Skip("addresses of Services have port 53, which needs root")
	}
	p := plan{Namespaces: 1, Clusters: 2, Servers: 2, Zones: 3, Idle: 5 * time.Second, Changes: 4}
	s := &stage{plan: p, dir: t.TempDir(), say: t.Logf}
	defer s.close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := figures.New(6)
	rig.SkipMissing(t, s.start(ctx))
	for _, step := range s.steps() {
		if err := step(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	for _, series := range r.Series {
		client, what, ok := strings.Cut(series.Name, " ")
		if _, client, _ = strings.Cut(strings.TrimPrefix(client, "requests/"), "/"); !ok || !strings.HasPrefix(series.Name, "requests/") || !strings.HasPrefix(client, "kubizone-") {
			continue
		}
		// A watch may end at any time, and begins again.
		if what != "update leases" && !strings.HasPrefix(what, "watch ") {
			t.Errorf("%s: %v %s", series.Name, series.Median(), series.Unit)
		}
	}
	for _, name := range []string{"restart/kubizone-fleet patch deployments", "change/all servers/p99", "option", "restart and option", "idle/fleet/resident"} {
		if v, ok := r.Median(name); !ok || v <= 0 {
			t.Errorf("no %s", name)
		}
	}
	var out bytes.Buffer
	report{r}.print(&out)
	t.Log("\n" + out.String())
}
