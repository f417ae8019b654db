// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/zone/etcd/maintenance"
	"kubi.zone/kubizone/test/must"
)

// The time of the last backup is stored in etcd, and servers export it as a metric. A restored store has the time of
// the backup before, because the time of a backup is stored only after the backup was taken.
func TestNote_isMeasuredByServers(t *testing.T) {
	dir := t.TempDir()
	s := startStore(t, filepath.Join(dir, "data"))
	take := func(name string, at time.Time) {
		t.Helper()
		m := must.Get(Take(t.Context(), s.where, filepath.Join(dir, name)))(t)
		m.Time = at
		must.Succeed(t, m.WriteTime(t.Context(), s.where))
	}
	expect := func(s *running, want int64) {
		t.Helper()
		if got := measureBackup(t, s); got != want {
			t.Errorf("the metric is %d, want %d", got, want)
		}
	}
	expect(s, 0)
	take("first", time.Unix(1_800_000_000, 0))
	expect(s, 1_800_000_000)
	take("second", time.Unix(1_800_003_600, 0))
	expect(s, 1_800_003_600)
	path, _, err := restoreBackup(t, filepath.Join(dir, "second"))
	must.Succeed(t, err)
	expect(startStore(t, path), 1_800_000_000)
}

func measureBackup(t *testing.T, s *running) int64 {
	t.Helper()
	registry := metrics.NewKubeRegistry()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	must.Succeed(t, maintenance.NewKeeper(s.store.Client.Client, apiserver.Prefix, registry).Run(ctx))
	for _, family := range must.Get(registry.Gather())(t) {
		if family.GetName() == "kubizone_last_backup_timestamp_seconds" {
			return int64(family.GetMetric()[0].GetGauge().GetValue())
		}
	}
	t.Fatal("no metric")
	return 0
}
