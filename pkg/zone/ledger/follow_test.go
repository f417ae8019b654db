// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

type listing struct {
	bases      map[string]ledger.Base // by namespace/name
	unreadable map[string]error
	ready      context.CancelFunc
}

func (l *listing) Reset() { l.bases, l.unreadable = map[string]ledger.Base{}, map[string]error{} }
func (l *listing) Base(b ledger.Base) {
	l.bases[b.Identity.Namespace+"/"+b.Identity.Name] = b
}
func (l *listing) Unreadable(namespace, name string, err error) {
	l.unreadable[namespace+"/"+name] = err
}
func (l *listing) Ready()                            { l.ready() }
func (l *listing) Apply(string, content.Transaction) {}

func followLedger(t *testing.T, s *store.Server) *listing {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &listing{ready: cancel}
	must.Succeed(t, s.Ledger.Follow(ctx, l))
	return l
}

// An object that cannot be decoded stops no other zone. A damaged Zone is reported by name. A damaged Record is left
// out, so that the content does not match the zone's stored state, which reveals the damage.
func TestFollow_damagedObjectsDoNotStopOthers(t *testing.T) {
	t.Parallel()
	st := store.New(t, store.Unchecked)
	s := st.Server()
	defer s.Run()()
	for _, object := range []string{"whole", "headless", "holed"} {
		store.Must(s.CreateZone(store.Zone("dns", object, object+".example.", store.Allow("", "*"))))
		store.Must(s.CreateRecord(t.Context(), store.Record("dns", object, "www."+object+".example.", "A", "192.0.2.1")))
	}
	before := followLedger(t, s)
	if len(before.bases) != 3 || len(before.unreadable) != 0 {
		t.Fatalf("%d zones, unreadable %v", len(before.bases), before.unreadable)
	}
	for _, key := range []string{store.Key("zones", "dns", "headless"), store.Key("records", "dns", "holed")} {
		must.Get(st.Client.Put(t.Context(), st.Prefix+key, strings.Repeat("\xff", 40)))(t)
	}
	after := followLedger(t, s)
	if len(after.bases) != 2 || after.unreadable["dns/headless"] == nil || len(after.unreadable) != 1 {
		t.Errorf("%d zones, unreadable %v", len(after.bases), after.unreadable)
	}
	if whole := after.bases["dns/whole"]; len(whole.RRsets) != len(before.bases["dns/whole"].RRsets) || whole.Hash == "" || whole.Hash != s.Zone("dns", "whole").Status.Hash {
		t.Errorf("the whole zone has %d sets and hash %q", len(whole.RRsets), whole.Hash)
	}
	if holed, was := after.bases["dns/holed"], before.bases["dns/holed"]; len(holed.RRsets) != len(was.RRsets)-1 || holed.Zone.State != was.Zone.State {
		t.Errorf("the zone with a hole has %d sets of %d, and state %s", len(holed.RRsets), len(was.RRsets), holed.Zone.State)
	}
}
