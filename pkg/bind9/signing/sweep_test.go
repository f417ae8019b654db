// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/agent/client"
	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/delivery/transfer"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
)

type agentDouble struct {
	url string

	mu      sync.Mutex
	owners  map[string]string
	deleted []string
	asked   func(zone string) // called before the owner is answered
}

func startAgent(t *testing.T, owners map[string]string) *agentDouble {
	t.Helper()
	a := &agentDouble{owners: owners, asked: func(string) {}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		path := strings.TrimPrefix(r.URL.Path, protocol.Base)
		zone, isStatus := strings.CutSuffix(strings.TrimPrefix(path, "/zones/"), "/status")
		owner, has := a.owners[zone]
		var answer any = protocol.ZoneResponse{Success: true, KeyOwner: owner}
		switch {
		case path == "/health":
			answer = protocol.Health{Agent: "kubizone"}
		case path == "/zones":
			answer = protocol.ZoneList{Zones: slices.Collect(maps.Keys(a.owners))}
		case !has:
			w.WriteHeader(http.StatusNotFound)
		case isStatus:
			a.asked(zone)
		case r.Method == http.MethodDelete && r.URL.Query().Get("keyOwner") == owner && !r.URL.Query().Has("keys"):
			a.deleted = append(a.deleted, zone)
			delete(a.owners, zone)
		default:
			t.Errorf("%s %s", r.Method, r.URL)
			w.WriteHeader(http.StatusBadRequest)
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

// The second sweep removes a signer's zones that no Zone uses: the Zone was renamed, ended, or is signed elsewhere.
// Zones not created for a Zone stay.
func TestSweepSigners_S12_9(t *testing.T) {
	signed := func(namespace, fqdn, signer string) *v1alpha1.Zone {
		zone, _ := zoneOf(namespace, "", v1alpha1.DNSClassReference{Name: "public"}, 0)
		zone.Status.FQDN = fqdn
		zone.Status.DNSSEC = &v1alpha1.ZoneDNSSECStatus{FQDN: fqdn, Phase: v1alpha1.DNSSECSigned, Policy: "default", Signer: &v1alpha1.ZoneSigner{Namespace: "platform", Name: signer}}
		return zone
	}
	agent := startAgent(t, map[string]string{
		"stays.example": "team", "elsewhere.example": "team2", "left.example": "team3", "again.example": "team4", "by-hand.example": "",
	})
	of := classOf("public", "platform/public", []string{"team"})
	of.Spec.AllowLocalAddresses = true
	objects := append(signingCluster("platform", "public", true), of, signed("team", "stays.example.", "public-signer-0"), signed("team2", "elsewhere.example.", "other-signer-0"))
	objects[1].(*bind9.Bind9Instance).Spec.External = &bind9.ExternalServer{AgentURL: agent.url, AllowPlainHTTP: true}
	c := newController(t, func([]string, name.Name) string { return "" }, objects...)
	agent.asked = func(zone string) { // between the query and the removal
		if zone != "again.example" {
			return
		}
		if err := c.Zones.Informer().GetIndexer().Add(signed("team4", "again.example.", "public-signer-0")); err != nil {
			t.Error(err)
		}
	}
	signer, _, err := c.Servers.Find("platform", "public-signer-0")
	must.Succeed(t, err)
	var left map[name.Name]bool
	for _, want := range [][]string{nil, {"elsewhere.example", "left.example"}, {"elsewhere.example", "left.example"}} {
		if left, err = c.sweepSigner(t.Context(), signer, left); err != nil && !strings.Contains(err.Error(), "zone again.example.: a Zone is signed by it") {
			t.Error(err)
		}
		if slices.Sort(agent.deleted); !slices.Equal(agent.deleted, want) {
			t.Errorf("removed %q, want %q", agent.deleted, want)
		}
	}
	// A signer outside a fleet may have foreign zones.
	agent.owners["left.example"] = "team3"
	for range 2 {
		if c.sweepSigners(t.Context()); agent.owners["left.example"] == "" || len(c.orphans) > 0 {
			t.Errorf("looked at: %v", c.orphans)
		}
	}
}

// At intervals the controller removes zones that no status names from the signers. If a signer does not answer, the
// list of its zones to remove is kept for the next sweep. A signer stopped on purpose is skipped (S12.9).
func TestSweepSigners_keepsWhatIsLeft_S12_9(t *testing.T) {
	objects := signingCluster("platform", "public", true)
	stopped := objects[1].(*bind9.Bind9Instance).DeepCopy()
	stopped.Name, stopped.UID, stopped.Spec.Replicas = "stopped-signer-0", "stopped", new(int32)
	at, zones := v1alpha1.ZoneSigner{Namespace: "platform", Name: "public-signer-0"}, map[name.Name]bool{name.MustParse("left.example."): true}
	signed, _ := zoneOf("team", "", v1alpha1.DNSClassReference{Name: "public"}, 0)
	signed.Status.FQDN, signed.Status.DNSSEC = "example.", &v1alpha1.ZoneDNSSECStatus{FQDN: "example.", Phase: v1alpha1.DNSSECSigned, Signer: &at}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // no agent exists
	for _, test := range []struct {
		of   []runtime.Object
		want int
	}{{append(objects, stopped), 2}, {append(objects, stopped, signed), 1}} {
		c := newController(t, func([]string, name.Name) string { return "" }, test.of...)
		c.orphans = map[v1alpha1.ZoneSigner]map[name.Name]bool{at: zones, {Namespace: "platform", Name: stopped.Name}: zones}
		if c.sweepSigners(ctx); len(c.orphans) != test.want || !maps.Equal(c.orphans[at], zones) {
			t.Errorf("left: %v", c.orphans)
		}
	}
}

// The controller tells a signer which servers to notify. If servers do not have the new keys of a zone yet, the signer
// also sends them a NOTIFY, but repeats it at most once in remindInterval, however often the controller reconciles. If
// the signer refuses, the next reconcile asks again, and after an acceptance none (S12.5).
func TestRunAction_asksTheSignerOnce_S12_5(t *testing.T) {
	fails, asked := false, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = protocol.Health{Agent: "kubizone"}
		if r.Method != http.MethodGet {
			asked, answer = asked+r.Method+" "+strings.TrimPrefix(r.URL.Path, protocol.Base), protocol.ZoneResponse{Success: true}
			w.WriteHeader(map[bool]int{true: http.StatusServiceUnavailable, false: http.StatusOK}[fails])
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	zone, _ := zoneOf("team", "", v1alpha1.DNSClassReference{Name: "public"}, 0)
	c := newController(t, func([]string, name.Name) string { return "" }, zone)
	agent := must.Get(client.New(server.URL, http.DefaultTransport))(t)
	w := &work{Controller: c, zone: zone, fqdn: name.MustParse("example.org."), site: site{agent: agent,
		servers: []transfer.Secondary{{Name: "s", Addr: netip.MustParseAddrPort("192.0.2.53:53")}}}}
	const targets, notify = "POST /zones", "POST /zones/example.org/notify"
	for i, test := range []struct {
		action action
		after  time.Duration
		fails  bool
		asked  string
	}{
		{nothing, 0, true, targets}, {nothing, 0, false, targets}, {nothing, 0, false, ""},
		{remind, 0, true, notify}, {remind, time.Second, false, notify}, {remind, 2 * time.Second, false, ""},
		{remind, 31 * time.Second, false, notify},
	} {
		fails, asked = test.fails, ""
		f := &facts{now: begin.Add(test.after), signing: signedBy("hidden")}
		err := w.runAction(t.Context(), f, decision{action: test.action, status: &v1alpha1.ZoneDNSSECStatus{}})
		if (err != nil) != test.fails || asked != test.asked {
			t.Errorf("look %d: %v, %q, want %q", i, err, asked, test.asked)
		}
	}
}
