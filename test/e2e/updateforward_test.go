// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// startForwarders starts secondaries that forward updates: BIND, which knows no update key, and Knot, which must know
// them.
func (u *updated) startForwarders(keys ...rig.TSIGKey) map[string]netip.AddrPort {
	u.t.Helper()
	primary := netip.MustParseAddrPort(u.dns)
	bind := must.Get(rig.StartBIND(u.t.Context(), rig.BINDConfig{Options: "allow-update-forwarding { 127.0.0.0/8; };\n",
		Secondaries: []rig.SecondaryZone{{Zone: "example.org.", Primary: primary}}}))(u.t)
	u.t.Cleanup(func() { _ = bind.Close() })
	knot := must.Get(rig.StartKnot(u.t.Context(), rig.KnotConfig{ForwardKeys: keys,
		Secondaries: []rig.SecondaryZone{{Zone: "example.org.", Primary: primary}}}))(u.t)
	u.t.Cleanup(func() { _ = knot.Close() })
	all := map[string]netip.AddrPort{"BIND": bind.Addr, "Knot": knot.Addr}
	for what, addr := range all {
		waitUntil(u.t, what+" with the zone", func() bool {
			_, found, err := (rig.Dig{Server: addr}).Serial(u.t.Context(), "example.org.")
			return err == nil && found
		})
	}
	return all
}

// A secondary forwards updates from its own address, which the primary trusts for transfers. The client's signature
// decides nevertheless: unsigned and forged updates, and names beyond the key, are refused and change nothing (S13.7,
// attack 99).
func TestUpdate_isForwarded_S13_7(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	u := runUpdated(t, t.TempDir(), "--transfer-allow", "127.0.0.0/8")
	key := u.makeKey("team-a", "dhcp", "", "*.apps.example.org.")
	forged := key
	forged.Secret = "YW5vdGhlciBzZWNyZXQgb2YgdGhpcnR5IG9jdGV0cyE="
	for what, at := range u.startForwarders(key) {
		host := strings.ToLower(what) + ".apps.example.org"
		if got := u.sendUpdateTo(at, &key, "update add "+host+" 60 A 192.0.2.1"); got != "NOERROR" {
			t.Errorf("%s: %s", what, got)
		}
		if !strings.Contains(u.readRecords("team-a"), strings.ToLower(what)+".apps A 60 192.0.2.1") {
			t.Errorf("%s: the update is answered, and team-a has %s", what, u.readRecords("team-a"))
		}
		for _, refused := range []struct {
			key  *rig.TSIGKey
			line string
			want []string
		}{
			{&forged, "update add forged." + host + " 60 A 192.0.2.1", []string{"NOTAUTH", "SERVFAIL"}}, // BIND has no answer to forward
			{nil, "update add unsigned." + host + " 60 A 192.0.2.1", []string{"REFUSED", "NOTAUTH"}},
			{&key, "update add www.b.example.org 60 A 192.0.2.1", []string{"REFUSED"}},
		} {
			if got := u.sendUpdateTo(at, refused.key, refused.line); !slices.Contains(refused.want, got) {
				t.Errorf("%s: %s: %s, want one of %v", what, refused.line, got, refused.want)
			}
		}
	}
	made := metav1.ListOptions{LabelSelector: v1alpha1.LabelDynamic + "=true"}
	list := must.Get(u.client.KubizoneV1alpha1().Records("").List(t.Context(), made))(t)
	if len(list.Items) != 2 {
		t.Errorf("updates made %d Records, want those that were signed", len(list.Items))
	}
}
