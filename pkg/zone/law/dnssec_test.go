// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/pkg/zone/law/zones"
	"kubi.zone/kubizone/test/must"
)

// signedFamily returns a world with the zone org., whose rule for the namespace team has ds: true, and with n signed
// zones below.
func signedFamily(t *testing.T, n int) (w *world, org zones.ZoneSpec) {
	t.Helper()
	w = newWorld()
	zone := func(spec zones.ZoneSpec) {
		spec.Header = someHeader
		spec.Header.NameServers = []content.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.1"}}}
		mustAccept(w.putZone(spec, true))(t)
	}
	org = zones.ZoneSpec{Ref: law.Ref{Namespace: "owner", Name: "org"}, DomainName: "org.", ZoneSettings: makeSettings(nil, 0, 30),
		Header: someHeader}
	org.Rules = []rules.Rule{{Namespaces: []string{"team"}, Zones: []pattern.Pattern{parsePattern(t, "*")}, DS: true}}
	org.Header.NameServers = []content.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.1"}}}
	zone(org)
	for i := range n {
		child := object{"team", fmt.Sprint("z", i)}
		zone(zones.ZoneSpec{Ref: law.Ref{Namespace: child.Namespace, Name: child.Name}, DomainName: child.Name + ".org.",
			ZoneSettings: makeSettings(nil, 0, 30)})
		w.signZone(child, []string{"1 13 2 " + strings.Repeat("0", 64)})
	}
	w.settleAll()
	w.now = w.now.Add(time.Hour)
	return w, org
}

func (w *world) countDS(o object) (n int) {
	for e := range w.views[w.zones[o].zone.UID].Entries() {
		if e.Type == rdata.DS {
			n++
		}
	}
	return n
}

// The DS records of a child zone belong to the child's namespace, although they are part of the parent's content. Their
// removal, because the child is no longer signed or because the rule no longer has `ds`, is no mass deletion by the
// parent's owner.
func TestDS_areTheChilds_S7_8(t *testing.T) {
	t.Parallel()
	const children = 30 // three RRsets each
	w, org := signedFamily(t, children)
	at := object{"owner", "org"}
	for i := range children {
		w.signZone(object{"team", fmt.Sprint("z", i)}, nil)
	}
	if h := w.holdingOf(w.zones[at].zone); h.Held != nil || w.countDS(at) != 0 {
		t.Errorf("children that are not signed any more hold their parent: %+v, %d DS", h.Held, w.countDS(at))
	}
	w, org = signedFamily(t, children)
	org.Rules = slices.Clone(org.Rules)
	org.Rules[0].DS = false
	mustAccept(w.putZone(org, true))(t)
	w.settleAll()
	if h := w.holdingOf(w.zones[at].zone); h.Held != nil || w.countDS(at) != 0 {
		t.Errorf("a rule that takes DS holds their parent: %+v, %d DS", h.Held, w.countDS(at))
	}
	for _, line := range append(w.checkAll(), w.checkSettled()...) {
		t.Error(line)
	}
}

// A parent zone has the DS values of Records and of its signed child zone in one RRset of limited size. Records must
// leave room for all DS values of a child.
func TestDS_besideRecords_S5_8(t *testing.T) {
	t.Parallel()
	w, org := signedFamily(t, 1)
	org.Rules = append(slices.Clone(org.Rules), rules.Rule{Records: []rules.RecordRule{{Pattern: parsePattern(t, "*"), Text: "*"}}})
	mustAccept(w.putZone(org, true))(t)
	w.settleAll()
	write := func(n int) *law.Refusal {
		r := law.Record{Namespace: "owner", Name: "ds", DomainName: "z0.org.", Type: rdata.DS}
		for i := range n {
			v := must.Get(rdata.Parse(rdata.DS, fmt.Sprintf("%d 8 2 %064d", i, i)))(t)
			r.Values = append(r.Values, v)
		}
		_, refusal := w.putRecord(r)
		return refusal
	}
	const most = rdata.MaxValues - law.MaxDS
	if refusal := write(most + 1); refusal == nil || refusal.Reason != law.ReasonLimitExceeded {
		t.Errorf("%d DS of Records: %v", most+1, refusal)
	}
	if refusal := write(most); refusal != nil {
		t.Fatal(refusal)
	}
	var all []string
	for i := range law.MaxDS {
		all = append(all, fmt.Sprintf("%d 13 2 %064d", 1000+i, i))
	}
	w.signZone(object{"team", "z0"}, all)
	w.settleAll()
	if n := w.countDS(object{"owner", "org"}); n != rdata.MaxValues {
		t.Errorf("%d DS in all, want %d", n, rdata.MaxValues)
	}
	for _, line := range append(w.checkAll(), w.checkSettled()...) {
		t.Error(line)
	}
}
