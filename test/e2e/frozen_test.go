// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	mdns "github.com/miekg/dns"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/zone/etcd/embed"
	"kubi.zone/kubizone/test/must"
)

func (r *running) inEtcd(do func(*clientv3.Client)) {
	r.t.Helper()
	endpoints, release, err := embed.Reach(r.t.Context(), r.dir, func(string) {})
	if err != nil {
		r.t.Fatal(err)
	}
	defer release()
	client := must.Get(clientv3.New(clientv3.Config{Endpoints: endpoints}))(r.t)
	defer client.Close()
	do(client)
}

func (r *running) flipOctet(part, value, damaged string) {
	r.t.Helper()
	r.inEtcd(func(client *clientv3.Client) {
		all := must.Get(client.Get(r.t.Context(), "/registry/kubizone/", clientv3.WithPrefix()))(r.t)
		for _, kv := range all.Kvs {
			if !strings.Contains(string(kv.Key), part) || !bytes.Contains(kv.Value, []byte(value)) {
				continue
			}
			wrong := bytes.Replace(kv.Value, []byte(value), []byte(damaged), 1)
			must.Get(client.Put(r.t.Context(), string(kv.Key), string(wrong)))(r.t)
			return
		}
		r.t.Fatalf("no key with %s has %s in its value", part, value)
	})
}

// F30: an octet of a stored Record changes. After a restart, the zone is frozen: not answered or transferred, and
// reported in its status, in the log, in metrics, by an alert and by verify. Other zones are served. test/crash repairs
// the damage.
func TestFrozen_whatIsDamagedInEtcdIsServedToNobody(t *testing.T) {
	dir := t.TempDir()
	r := runUp(t, dir)
	r.makeZone("org", "example.org.")
	r.makeZone("net", "example.net.")
	if answer := r.sendQuery(r.dns, "www.example.org.", mdns.TypeA); len(answer.Answer) != 1 {
		t.Fatalf("before: %v", answer)
	}
	r.flipOctet("/records/dns/org-www", "192.0.2.1", "192.0.2.3")
	if answer := r.sendQuery(r.dns, "www.example.org.", mdns.TypeA); len(answer.Answer) != 1 ||
		answer.Answer[0].(*mdns.A).A.String() != "192.0.2.1" {
		t.Errorf("what was proven is not what is served: %v", answer)
	}
	must.Succeed(t, r.stopProcess())

	r = runUp(t, dir)
	if answer := r.sendQuery(r.dns, "www.example.net.", mdns.TypeA); len(answer.Answer) != 1 ||
		answer.Answer[0].(*mdns.A).A.String() != "192.0.2.1" {
		t.Errorf("another zone: %v", answer)
	}
	for _, question := range []struct {
		name  string
		qtype uint16
		rcode int
	}{
		{"www.example.org.", mdns.TypeA, mdns.RcodeRefused}, {"example.org.", mdns.TypeSOA, mdns.RcodeRefused}, {"example.org.", mdns.TypeAXFR, mdns.RcodeNotAuth},
	} {
		if answer := r.sendQuery(r.dns, question.name, question.qtype); answer.Rcode != question.rcode || len(answer.Answer) > 0 {
			t.Errorf("%s %s of a frozen zone: %v", question.name, mdns.TypeToString[question.qtype], answer)
		}
	}
	if got := r.readMetrics().parseMetrics(); got["kubizone_view_frozen_zones"] != 1 || got["kubizone_view_proofs_failed_total"] < 1 ||
		got["kubizone_primary_zones"] != 1 {
		t.Errorf("frozen %v, failed proofs %v, zones served %v", got["kubizone_view_frozen_zones"], got["kubizone_view_proofs_failed_total"], got["kubizone_primary_zones"])
	}
	r.expectAlerts("KubizoneBackupLate", "KubizoneZonesUnproven")
	if !strings.Contains(r.Log(), "A zone is frozen") || strings.Contains(r.Log(), "192.0.2.3") {
		t.Errorf("the log does not say it as it should:\n%s", r.Log())
	}
	verify := exec.Command(binaries.client, "verify", "--kubeconfig", filepath.Join(dir, "kubeconfig"), "dns/org", "--name-server", r.dns)
	if out, err := verify.CombinedOutput(); err == nil || !strings.Contains(string(out), "frozen") {
		t.Errorf("verify: %v\n%s", err, out)
	}
	waitUntil(t, "the zone says that it is frozen, and what to do", func() bool {
		ready := r.readConditions("org")
		return strings.Contains(ready, `"Frozen"`) && strings.Contains(ready, "kubizone fsck") &&
			!strings.Contains(r.readConditions("net"), "Frozen")
	})
}

func (r *running) readConditions(zone string) string {
	r.t.Helper()
	text := must.Get(r.client.KubizoneV1alpha1().RESTClient().Get().Namespace("dns").Resource("zones").Name(zone).DoRaw(r.t.Context()))(r.t)
	return string(text)
}
