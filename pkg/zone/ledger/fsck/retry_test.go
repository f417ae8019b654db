// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck_test

import (
	"testing"
	"time"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// The removal of a Record or name server makes waiting Records be tried again (S2.7). If the server stops between the
// removal and the first step of the trial, fsck must report pending work and no damage, although the zone is not yet
// marked as changing.
func TestRun_isCleanBeforeTheFirstStepOfARetry(t *testing.T) {
	for what, free := range map[string]func(s *store.Server) error{
		"a name server goes": func(s *store.Server) error {
			_, err := s.UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.NameServers = nil })
			return err
		},
		"a record goes": func(s *store.Server) error { return s.DeleteRecord(s.Ctx, "team-a", "www") },
	} {
		t.Run(what, func(t *testing.T) {
			st := store.New(t)
			s := st.Server()
			stop := s.Run()
			defer stop()
			z := store.Zone("infra", "example", "example.org.", store.Allow("", "*"))
			z.Spec.NameServers = []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}}
			for _, r := range []*v1alpha1.Record{
				store.Record("team-a", "www", "www.example.org.", "A", "192.0.2.1"),
				store.Record("team-b", "www", "www.example.org.", "A", "192.0.2.2"),
				store.Record("team-b", "ns1", "ns1.example.org.", "A", "192.0.2.3"),
			} {
				if r.Namespace == "team-a" {
					r.CreationTimestamp.Time = r.CreationTimestamp.Add(-time.Hour) // the older Record is adopted (S2.8)
				}
				store.Must(s.CreateRecord(s.Ctx, r))
			}
			store.Must(s.CreateZone(z))
			st.Settle()
			stop()
			must.Succeed(t, free(s))
			r := st.Fsck()
			if !r.Clean() || r.Pending.Total == 0 {
				t.Errorf("%s", store.Text(r))
			}
			s.Run()
			st.Settle()
			if r = st.Fsck(); !r.Clean() || r.Pending.Total > 0 {
				t.Errorf("carried out:\n%s", store.Text(r))
			}
		})
	}
}

// A trial of a Record that names its zone by zoneRef finds those that wait for the same zone too. The zone at the name
// is marked by a later step.
func TestRun_isCleanBesideATrialOfTwoScans_I4(t *testing.T) {
	st := store.New(t)
	s := st.Server()
	defer s.Run()()
	z := store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	st.Settle()
	at := law.Place{Ref: law.Ref{Namespace: "infra", Name: "example", UID: string(z.UID)}, FQDN: name.MustParse("example.org.")}
	w := law.Work{ID: law.TrialID + ".www.example.org.", Reason: "a waiting object may be adopted", By: "team-a", Zones: []law.Place{at},
		Scans: []law.Scan{{Kind: law.ScanWaiting, Name: name.MustParse("www.example.org.")}, {Kind: law.ScanReferring, Target: &at.Ref}}}
	key := layout.Keys{Prefix: st.Prefix}.Outbox(w.ID)
	store.Must(st.Client.Client.Put(t.Context(), key, string(layout.Encode(w))))
	if r := st.Fsck(); !r.Clean() {
		t.Errorf("%s", store.Text(r))
	}
}
