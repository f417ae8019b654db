// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// M8: promtool judges the chart's alerts by the metrics of a real process, in each state that an alert names.
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
	r.expectAlerts("KubizoneDeliveryFailing")
	r.judgeRates(away.String())
	r.process.Kill()
	r.judgeScrapes(0, nil, nil, "KubizoneAPIServerDown")
}

// judgeHold removes the last NS of a zone.
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

// judgeRates adds a class with a secondary that is down. Its ages and counters go on as between two scrapes.
func (r *running) judgeRates(secondary string) {
	r.t.Helper()
	class := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "down"}, Spec: v1alpha1.DNSClassSpec{
		AllowLocalAddresses: true, Namespaces: &v1alpha1.NamespaceSelection{Names: []string{"dns"}},
		Transfer: &v1alpha1.TransferProvider{Secondaries: []v1alpha1.Secondary{{Address: secondary}}}}}
	must.Get(r.client.KubizoneV1alpha1().DNSClasses().Create(r.t.Context(), class, metav1.CreateOptions{}))(r.t)
	zones := r.client.KubizoneV1alpha1().Zones("dns")
	zone := must.Get(zones.Get(r.t.Context(), "org", metav1.GetOptions{}))(r.t)
	zone.Spec.DNSClassRefs = append(zone.Spec.DNSClassRefs, v1alpha1.DNSClassReference{Name: class.Name})
	must.Get(zones.Update(r.t.Context(), zone, metav1.UpdateOptions{}))(r.t)
	const failed = `kubizone_primary_notifies_total{result="failed"}`
	var first, now map[string]float64
	waitUntil(r.t, "a secondary is behind", func() bool {
		first = r.readMetrics().parseMetrics()
		return first[failed] > 0 && first[`kubizone_delivery_secondaries_behind{class="down"}`] == 1
	})
	began := time.Now()
	waitUntil(r.t, "another NOTIFY failed", func() bool {
		now = r.readMetrics().parseMetrics()
		return now[failed] > first[failed]
	})
	r.judgeScrapes(1, now, func(name string) float64 {
		return (now[name] - first[name]) * float64(time.Minute) / float64(time.Since(began))
	}, "KubizoneDeliveryFailing", "KubizoneDeliveryLate", "KubizoneNotifyFailing", "KubizoneSecondaryBehind")
}

// expectAlerts judges an hour of scrapes, all with the present metrics.
func (r *running) expectAlerts(names ...string) {
	r.t.Helper()
	r.judgeScrapes(1, r.readMetrics().parseMetrics(), func(string) float64 { return 0 }, names...)
}

// judgeScrapes judges an hour of scrapes: the first has the metrics found, the next each rate(name) more.
// promtool's clock begins at 0, and so do the times that metrics have.
func (r *running) judgeScrapes(up int, found map[string]float64, rate func(name string) float64, names ...string) {
	r.t.Helper()
	const hour = 60 // in minutes
	type series struct {
		Series string `json:"series"`
		Values string `json:"values"`
	}
	type sample struct {
		Labels string  `json:"labels"`
		Value  float64 `json:"value"`
	}
	input := []series{{`up{job="kubizone-apiserver"}`, fmt.Sprintf("%dx%d", up, hour)}}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		value, more := found[name], rate(name)
		if family, _, _ := strings.Cut(name, "{"); strings.HasSuffix(family, "_timestamp_seconds") {
			value, more = value+float64(hour*60-time.Now().Unix()), 0
		}
		input = append(input, series{name, fmt.Sprintf("%f%+fx%d", value, more, hour)})
	}
	want := []sample{}
	for _, name := range names {
		want = append(want, sample{fmt.Sprintf(`{alertname=%q}`, name), 1})
	}
	text := must.Get(yaml.Marshal(map[string]any{
		"rule_files": []string{must.Get(filepath.Abs("../../charts/kubizone/rules/kubizone.yaml"))(r.t)}, "evaluation_interval": "1m",
		"tests": []any{map[string]any{"interval": "1m", "input_series": input, "promql_expr_test": []any{map[string]any{
			"expr": `max by (alertname) (ALERTS{alertstate="firing"})`, "eval_time": fmt.Sprintf("%dm", hour), "exp_samples": want}}}},
	}))(r.t)
	file := filepath.Join(r.t.TempDir(), "alerts.yaml")
	must.Succeed(r.t, os.WriteFile(file, text, 0o600))
	program := rig.Need(rig.Find("promtool", "hack/install-peers.sh"))(r.t)
	if out, err := exec.CommandContext(r.t.Context(), program, "test", "rules", file).CombinedOutput(); err != nil {
		r.t.Errorf("alerts other than %q: %v\n%s", names, err, out)
	}
}
