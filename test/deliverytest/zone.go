// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deliverytest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	lawcontent "kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/must"
)

// Zone makes a zone's journal steps and applies them to views.
type Zone struct {
	t *testing.T
	zoneview.Zone
	n      uint64
	state  sethash.State
	Header lawcontent.Header
	Serial serial.Serial
	Time   int64             // of the next steps, in Unix seconds; 0 for none
	Data   map[string]string // owner → address
	Sets   []*zoneview.Set
}

func NewZone(t *testing.T, uid, fqdn string, sets ...*zoneview.Set) *Zone {
	w := &Zone{t: t, Zone: zoneview.Zone{UID: uid, Namespace: "team", Name: uid}, Data: map[string]string{}, Sets: sets}
	w.Header = lawcontent.Header{FQDN: name.MustParse(fqdn), TTL: 360, Refresh: 86400, Retry: 7200, Expire: 3600000,
		NegativeResponseCache: 360}
	w.CommitStep(nil, true)
	return w
}

// PutAddresses changes addresses by owner; "" removes.
func (w *Zone) PutAddresses(changes map[string]string) { w.CommitStep(changes, true) }

func (w *Zone) CommitStep(changes map[string]string, settled bool) {
	w.t.Helper()
	step := lawcontent.Step{N: w.n + 1, From: w.Serial, Serial: w.Serial.Next(), Time: w.Time}
	if w.n == 0 {
		step.HeaderAfter = &w.Header
	}
	inherit := lawcontent.InheritTTL()
	for _, owner := range slices.Sorted(maps.Keys(changes)) {
		was, is := w.Data[owner], changes[owner]
		if was == is {
			continue
		}
		rel := name.MustRel(owner)
		ttl := lawcontent.TTLChange{Owner: rel, Type: rdata.A}
		if was != "" {
			step.Removed = append(step.Removed, lawcontent.Row{Owner: rel, Type: rdata.A, Data: was})
			ttl.Before = &inherit
		}
		if is != "" {
			step.Added = append(step.Added, lawcontent.Row{Owner: rel, Type: rdata.A, Data: is})
			ttl.After = &inherit
			w.Data[owner] = is
		} else {
			delete(w.Data, owner)
		}
		if was == "" || is == "" {
			step.TTLs = append(step.TTLs, ttl)
		}
	}
	removed, added := step.Elements()
	state := must.Get(w.state.Update(removed, added))(w.t)
	step.State = state
	w.Serial, w.n, w.state = step.Serial, step.N, state
	for _, set := range w.Sets {
		must.Succeed(w.t, set.Apply(w.UID, lawcontent.Transaction{Steps: []lawcontent.Step{step}, Settled: settled}, w.Zone))
	}
}

func (w *Zone) ListWanted() map[string]string {
	want := map[string]string{}
	for owner, data := range w.Data {
		n := must.Get(name.MustRel(owner).In(w.Header.FQDN))(w.t)
		want[n.String()] = data
	}
	return want
}

func (s *Server) Addresses(zone name.Name) map[string]string {
	has := map[string]string{}
	for _, set := range s.Inspect(zone) {
		has[set.Name.String()] = fmt.Sprint(set.Data[0])
	}
	return has
}

func (w *Zone) Expect(server *Server) {
	w.t.Helper()
	if got, want := server.Addresses(w.Header.FQDN), w.ListWanted(); !maps.Equal(got, want) {
		w.t.Errorf("%s at %d: the server has\n%v\nthe zone\n%v", w.Header.FQDN, w.Serial, got, want)
	}
}
