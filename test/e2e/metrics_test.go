// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"regexp"
	"strings"
	"testing"

	mdns "github.com/miekg/dns"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/metrics"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// transferFrom uses AXFR, or IXFR from a serial, and returns the number of records.
func transferFrom(t *testing.T, server, fqdn string, since uint32) (records int) {
	t.Helper()
	q := new(mdns.Msg)
	if q.SetAxfr(fqdn); since > 0 {
		q.SetIxfr(fqdn, since, "ns.", "host.")
	}
	parts := must.Get(new(mdns.Transfer).In(q, server))(t)
	for part := range parts {
		if part.Error != nil {
			t.Fatal(part.Error)
		}
		records += len(part.RR)
	}
	return records
}

// Metrics for operators have stable names, reveal no tenant, and count events, in `kubizone up` and in `kubizone
// primary`.
func TestMetrics_ofRealProcesses(t *testing.T) {
	r := runUp(t, t.TempDir(), "--transfer-to", findDeaf(t))
	r.makeZone("org", "example.org.")
	records := r.client.KubizoneV1alpha1().Records("dns")
	if _, err := records.Create(t.Context(), &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "org-www"}, Spec: v1alpha1.RecordSpec{DomainName: "twice.example.org.", Type: "A", RData: "192.0.2.1"}}, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	// An IXFR needs a serial that the primary has served, and the primary lags behind a write.
	before := r.waitForZone("org", r.dns)
	r.makeRecord("more", "more.example.org.", "192.0.2.2")
	r.waitForZone("org", r.dns)
	transferFrom(t, r.dns, "example.org.", 0)
	transferFrom(t, r.dns, "example.org.", before)
	transferFrom(t, r.dns, "example.org.", 1)
	for _, name := range []string{"www.example.org.", "nowhere.example.org.", "www.example.com."} {
		r.sendQuery(r.dns, name, mdns.TypeA)
	}
	wants := map[string]float64{
		`kubizone_ledger_transactions_total`:                                3,
		`kubizone_ledger_guard_retries_total`:                               some,
		`kubizone_cascade_backlog`:                                          0,
		`kubizone_cascade_steps_total`:                                      0,
		`kubizone_journal_transactions`:                                     1,
		`kubizone_journal_held_steps`:                                       1,
		`kubizone_journal_oldest_seconds`:                                   some,
		`kubizone_view_proofs_failed_total`:                                 0,
		`kubizone_zones_held`:                                               0,
		`kubizone_view_frozen_zones`:                                        0,
		`kubizone_primary_zones`:                                            1,
		`kubizone_primary_questions_total{rcode="NOERROR"}`:                 1,
		`kubizone_primary_questions_total{rcode="NXDOMAIN"}`:                1,
		`kubizone_primary_questions_total{rcode="REFUSED"}`:                 1,
		`kubizone_primary_transfers_total{kind="axfr",result="sent"}`:       1,
		`kubizone_primary_transfers_total{kind="ixfr",result="sent"}`:       1,
		`kubizone_primary_transfers_total{kind="ixfr_whole",result="sent"}`: 1,
		`kubizone_primary_transfer_bytes_total{kind="axfr"}`:                100,
		`kubizone_primary_notifies_total{result="sent"}`:                    1,
		`kubizone_primary_notifies_total{result="failed"}`:                  1,
		`kubizone_primary_notifies_total{result="confirmed"}`:               0,
		`kubizone_primary_connections_refused_total`:                        0,
	}
	// NOTIFY fails after a while, etcd is polled at intervals, and a transfer counts after its last octet.
	waitUntil(t, "a NOTIFY that failed, a journal that was measured, transfers that have ended", func() bool {
		got := r.readMetrics().parseMetrics()
		return got[`kubizone_primary_notifies_total{result="failed"}`] > 0 && got["kubizone_journal_transactions"] > 0 &&
			countEnded(got) == 3
	})
	checkMetrics(t, r.readMetrics(), wants)
	for _, labelled := range []string{`kubizone_etcd_in_use_bytes\{endpoint=`, `kubizone_etcd_quota_bytes\{endpoint=`,
		`apiserver_request_total\{code="409",.*group="kubi.zone",resource="records",.*verb="POST"`} {
		if !regexp.MustCompile(`(?m)^` + labelled).MatchString(string(r.readMetrics())) {
			t.Errorf("no %s", labelled)
		}
	}

	for _, wrong := range metrics.Check("up", string(r.readMetrics())) {
		t.Error(wrong)
	}

	apart, dns, health := r.startPrimary()
	if err := apart.waitLine(ready); err != nil {
		t.Fatalf("%v\n%s", err, apart.Log())
	}
	transferFrom(t, dns, "example.org.", 0)
	r.sendQuery(dns, "www.example.org.", mdns.TypeA)
	waitUntil(t, "a transfer that has ended", func() bool { return countEnded(metricsOf(t, health).parseMetrics()) == 1 })
	checkMetrics(t, metricsOf(t, health), map[string]float64{
		`kubizone_primary_zones`:                                      1,
		`kubizone_primary_questions_total{rcode="NOERROR"}`:           1,
		`kubizone_primary_transfers_total{kind="axfr",result="sent"}`: 1,
		`kubizone_primary_transfer_bytes_total{kind="axfr"}`:          100,
		`kubizone_view_frozen_zones`:                                  0,
	})
	for _, wrong := range metrics.Check("primary", string(metricsOf(t, health))) {
		t.Error(wrong)
	}
}

func countEnded(of map[string]float64) (transfers float64) {
	for name, is := range of {
		if strings.HasPrefix(name, "kubizone_primary_transfers_total{") {
			transfers += is
		}
	}
	return transfers
}

const some = -1

func checkMetrics(t *testing.T, got metricsText, wants map[string]float64) {
	t.Helper()
	all := got.parseMetrics()
	for name, want := range wants {
		is, ok := all[name]
		if !ok || is < want || want == 0 && is != 0 {
			t.Errorf("%s is %v (there: %v), want %v", name, is, ok, want)
		}
	}
	if reported := got.namesTenants(); reported != "" {
		t.Errorf("metrics tell of tenants:\n%s", reported)
	}
}

func findDeaf(t *testing.T) string {
	t.Helper()
	at := must.Get(rig.FreePort())(t)
	return at.String()
}
