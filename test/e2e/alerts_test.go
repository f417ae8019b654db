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

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/alertrig"
)

// promtool judges the chart's alerts by the metrics of a real process, in each state that an alert names: without a
// backup, with a held zone, a failing delivery, damage, and when the process is gone (M8).
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

	r.judgeHold()
	away := must.Get(rig.FreePort())(t)
	class := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "away"}, Spec: v1alpha1.DNSClassSpec{
		AllowLocalAddresses: true, Namespaces: &v1alpha1.NamespaceSelection{Names: []string{"dns"}},
		Webhook: &v1alpha1.WebhookProvider{Server: "http://" + away.String()}}}
	must.Get(r.client.KubizoneV1alpha1().DNSClasses().Create(t.Context(), class, metav1.CreateOptions{}))(t)
	zones := r.client.KubizoneV1alpha1().Zones("dns")
	zone := must.Get(zones.Get(t.Context(), "org", metav1.GetOptions{}))(t)
	zone.Spec.DNSClassRefs = []v1alpha1.DNSClassReference{{Name: class.Name}}
	must.Get(zones.Update(t.Context(), zone, metav1.UpdateOptions{}))(t)
	waitUntil(t, "a delivery that failed", func() bool {
		return r.readMetrics().parseMetrics()[`kubizone_delivery_failing{class="away"}`] == 1
	})
	r.expectAlerts(failingAlerts[:2]...)
	failing := append(slices.Clone(failingAlerts), r.judgeNotify(away.String()))
	r.judgePrimary(failing)
	r.judgeDamage(failing)
	r.judgeCorruption(failing)
	r.process.Kill()
	now := alertrig.Series{}
	now.Scrape(http.DefaultClient, "kubizone-apiserver", "up", r.config.Host+"/metrics")
	alertrig.State{Now: now}.Expect(t, "KubizoneAPIServerDown")
}

// The address of the class "away" has no server.
var failingAlerts = []string{"KubizoneDeliveryFailing away", "KubizoneDeliveryLate away", "KubizoneDeliveryLate down",
	"KubizoneSecondaryBehind down"}

func (r *running) judgePrimary(failing []string) {
	r.t.Helper()
	apart, _, url := r.startPrimary()
	state := func() alertrig.State {
		now := r.scrapeServer()
		now.Scrape(http.DefaultClient, "kubizone-primary", "apart", url)
		return alertrig.State{Now: now}
	}
	state().Expect(r.t, failing...)
	apart.Kill()
	state().Expect(r.t, append(slices.Clone(failing), "KubizoneProgramDown kubizone-primary")...)
}

// judgeDamage overwrites a stored Record, and changes the rules of its zone: a cascade skips the Record, and stays.
func (r *running) judgeDamage(failing []string) {
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
	r.expectAlerts(append(slices.Clone(failing), "KubizoneCascadeStuck")...)
}

// etcd raises this alarm when members differ.
func (r *running) judgeCorruption(failing []string) {
	r.t.Helper()
	r.inEtcd(func(client *clientv3.Client) {
		member := must.Get(client.Status(r.t.Context(), client.Endpoints()[0]))(r.t).Header.MemberId
		alarm := &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: member,
			Alarm: etcdserverpb.AlarmType_CORRUPT}
		must.Get(etcdserverpb.NewMaintenanceClient(client.ActiveConnection()).Alarm(r.t.Context(), alarm))(r.t)
	})
	waitUntil(r.t, "the server knows the alarm", func() bool { return r.readMetrics().parseMetrics()["kubizone_etcd_corrupt"] == 1 })
	r.expectAlerts(append(slices.Clone(failing), "KubizoneCascadeStuck", "KubizoneEtcdCorrupt")...)
}

func (r *running) judgeHold() {
	r.t.Helper()
	zones := r.client.KubizoneV1alpha1().Zones("dns")
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "held"}, Spec: v1alpha1.ZoneSpec{DomainName: "held.example.",
		NameServers: []v1alpha1.NameServer{{Name: "ns.example.net."}}}}
	zone = must.Get(zones.Create(r.t.Context(), zone, metav1.CreateOptions{}))(r.t)
	zone.Spec.NameServers = nil
	must.Get(zones.Update(r.t.Context(), zone, metav1.UpdateOptions{}))(r.t)
	r.expectAlerts("KubizoneZonesHeld")
	must.Succeed(r.t, zones.Delete(r.t.Context(), "held", metav1.DeleteOptions{}))
	waitUntil(r.t, "no zone is held", func() bool { return r.readMetrics().parseMetrics()["kubizone_zones_held"] == 0 })
}

// judgeNotify adds a class with a secondary that is down, and returns the alert that names the secondary.
func (r *running) judgeNotify(secondary string) (alert string) {
	r.t.Helper()
	class := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "down"}, Spec: v1alpha1.DNSClassSpec{
		AllowLocalAddresses: true, Namespaces: &v1alpha1.NamespaceSelection{Names: []string{"dns"}},
		Transfer: &v1alpha1.TransferProvider{Secondaries: []v1alpha1.Secondary{{Address: secondary}}}}}
	must.Get(r.client.KubizoneV1alpha1().DNSClasses().Create(r.t.Context(), class, metav1.CreateOptions{}))(r.t)
	zones := r.client.KubizoneV1alpha1().Zones("dns")
	zone := must.Get(zones.Get(r.t.Context(), "org", metav1.GetOptions{}))(r.t)
	zone.Spec.DNSClassRefs = append(zone.Spec.DNSClassRefs, v1alpha1.DNSClassReference{Name: class.Name})
	must.Get(zones.Update(r.t.Context(), zone, metav1.UpdateOptions{}))(r.t)
	waitUntil(r.t, "a secondary is behind, and NOTIFY without an answer", func() bool {
		now := r.readMetrics().parseMetrics()
		return now[`kubizone_primary_notify_faults{answer="NoAnswer",server="`+secondary+`"}`] == 1 &&
			now[`kubizone_delivery_secondaries_behind{class="down"}`] == 1
	})
	alert = "KubizoneNotifyFailing " + secondary
	r.expectAlerts(append(slices.Clone(failingAlerts), alert)...)
	return alert
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
