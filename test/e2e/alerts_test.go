// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig/alertrig"
)

// promtool judges the chart's alerts by the metrics of a real process, in states that alerts name: without a backup,
// with damage, and when the process is gone (M8). test/oncall has the alerts of zones, classes and servers.
func TestAlerts_ofRealProcesses(t *testing.T) {
	r := runUp(t, t.TempDir())
	r.makeZone("org", "example.org.")
	r.waitForZone("org", r.dns)
	r.expectAlerts("KubizoneBackupLate")

	backup := exec.CommandContext(t.Context(), binaries.kubizone, "backup", "--data-dir", r.dir, filepath.Join(t.TempDir(), "backup"))
	if out, err := backup.CombinedOutput(); err != nil || strings.Contains(string(out), "warning") {
		t.Fatalf("%v\n%s", err, out)
	}
	waitUntil(t, "the server has the time of the backup", func() bool {
		return r.readMetrics().parseMetrics()["kubizone_last_backup_timestamp_seconds"] > 0
	})
	r.expectAlerts()
	if at := r.readMetrics().parseMetrics()[`kubizone_certificate_expiry_timestamp_seconds{certificate="serving"}`]; at == 0 {
		t.Error("the end of the serving certificate is not known")
	}

	r.judgePrimary()
	r.judgeDamage()
	r.judgeCorruption()
	r.process.Kill()
	now := alertrig.Series{}
	now.Scrape(http.DefaultClient, "kubizone-apiserver", "up", r.config.Host+"/metrics")
	alertrig.State{Now: now}.Expect(t, "KubizoneAPIServerDown")
}

func (r *running) judgePrimary() {
	r.t.Helper()
	apart, _, url := r.startPrimary()
	state := func() alertrig.State {
		now := r.scrapeServer()
		now.Scrape(http.DefaultClient, "kubizone-primary", "apart", url)
		return alertrig.State{Now: now}
	}
	state().Expect(r.t)
	apart.Kill()
	state().Expect(r.t, "KubizoneProgramDown kubizone-primary")
}

// judgeDamage overwrites a stored Record, and changes the rules of its zone: a cascade skips the Record, and stays.
func (r *running) judgeDamage() {
	r.t.Helper()
	const key = "/records/dns/org-www"
	r.inEtcd(func(client *clientv3.Client) {
		found := must.Get(client.Get(r.t.Context(), "/registry/kubizone/", clientv3.WithPrefix(), clientv3.WithKeysOnly()))(r.t)
		at := slices.IndexFunc(found.Kvs, func(kv *mvccpb.KeyValue) bool { return strings.HasSuffix(string(kv.Key), key) })
		must.Get(client.Put(r.t.Context(), string(found.Kvs[at].Key), "damage"))(r.t)
	})
	must.Get(r.client.KubizoneV1alpha1().Zones("dns").Patch(r.t.Context(), "org", types.MergePatchType,
		[]byte(`{"spec":{"delegations":[{"records":[{"pattern":"www"}]}]}}`), metav1.PatchOptions{}))(r.t)
	waitUntil(r.t, "the backlog is counted", func() bool { return r.readMetrics().parseMetrics()["kubizone_cascade_backlog"] == 1 })
	r.expectAlerts("KubizoneCascadeStuck")
}

// etcd raises this alarm when members differ.
func (r *running) judgeCorruption() {
	r.t.Helper()
	r.inEtcd(func(client *clientv3.Client) {
		member := must.Get(client.Status(r.t.Context(), client.Endpoints()[0]))(r.t).Header.MemberId
		alarm := &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: member,
			Alarm: etcdserverpb.AlarmType_CORRUPT}
		must.Get(etcdserverpb.NewMaintenanceClient(client.ActiveConnection()).Alarm(r.t.Context(), alarm))(r.t)
	})
	waitUntil(r.t, "the server knows the alarm", func() bool { return r.readMetrics().parseMetrics()["kubizone_etcd_corrupt"] == 1 })
	r.expectAlerts("KubizoneCascadeStuck", "KubizoneEtcdCorrupt")
}

func (r *running) scrapeServer() alertrig.Series {
	series := alertrig.Series{}
	series.AddScrape("kubizone-apiserver", "up", string(r.readMetrics()))
	return series
}

// expectAlerts judges an hour with the present metrics.
func (r *running) expectAlerts(want ...string) {
	r.t.Helper()
	alertrig.State{Now: r.scrapeServer()}.Expect(r.t, want...)
}
