// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/pkg/zone/etcd/maintenance"
	"kubi.zone/kubizone/test/must"
)

func partsOf(unknown []v1alpha1.InstallationUnknown) (parts []string) {
	for _, one := range unknown {
		parts = append(parts, one.Part)
	}
	return parts
}

func TestReader_namesEachUnknownPart(t *testing.T) {
	dir := t.TempDir()
	us := must.Get(pki.Open(dir, pki.Hosts("127.0.0.1"), time.Now()))(t)
	certificate, broken := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "broken.crt")
	must.Succeed(t, os.WriteFile(certificate, us.ServingCert, 0o600))
	must.Succeed(t, os.WriteFile(broken, []byte("nothing"), 0o600))
	serving := must.Get(dynamiccertificates.NewStaticCertKeyContent("test", us.ServingCert, us.ServingKey))(t)
	backup := time.Now().Add(-time.Hour).Truncate(time.Second)
	checked := maintenance.State{CheckedAt: time.Now(), LastBackup: backup, Members: []maintenance.Member{
		{Endpoint: "a", IsLeader: true, Version: "3.6", Size: 3, InUse: 2, Quota: 9}, {Endpoint: "b", Err: errors.New("no answer")}}}
	for _, test := range []struct {
		name          string
		state         maintenance.State
		full, corrupt bool
		alarms, names []string
		unknown       []string

		client, authority string
	}{
		{name: "before the first check", names: []string{"serving"}, unknown: []string{"processes", "etcd", "backup"}},
		{name: "checked", state: checked, names: []string{"serving"}, unknown: []string{"processes"}},
		{name: "alarms", state: checked, full: true, corrupt: true, alarms: []string{"NOSPACE", "CORRUPT"}, names: []string{"serving"},
			unknown: []string{"processes"}},
		{name: "files of etcd", state: checked, client: certificate, authority: broken,
			names: []string{"etcd-client", "serving"}, unknown: []string{"processes", "certificates"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			of := Certificates{}
			of.AddServing(serving)
			of.AddFile("etcd-client", test.client)
			of.AddFile("etcd-ca", test.authority)
			r := &Reader{Began: time.Now(), Certificates: of, ListGone: func() ([]string, bool) { return []string{"b", "a"}, true },
				ListTerminating: func() []string { return []string{"d", "c"} },
				Permissions:     func() []string { return []string{"no tokenreviews"} },
				EtcdState:       func() (maintenance.State, bool, bool) { return test.state, test.full, test.corrupt }}
			s := r.ReadStatus()
			if !slices.Equal(s.NamespacesGone, []string{"a", "b"}) || len(s.MissingPermissions) != 1 {
				t.Errorf("gone %q, missing %q", s.NamespacesGone, s.MissingPermissions)
			}
			var names []string
			for _, one := range s.Certificates {
				names = append(names, one.Name)
			}
			if parts := partsOf(s.Unknown); !slices.Equal(parts, test.unknown) || !slices.Equal(names, test.names) {
				t.Errorf("certificates %q, unknown %+v", names, s.Unknown)
			}
			if test.state.CheckedAt.IsZero() {
				if s.Etcd != nil || s.LastBackup != nil {
					t.Errorf("%+v", s)
				}
				return
			}
			want := []v1alpha1.InstallationEtcdMember{
				{Endpoint: "a", Leader: true, Version: "3.6", SizeBytes: 3, InUseBytes: 2, QuotaBytes: 9},
				{Endpoint: "b", Error: "no answer"}}
			if !slices.Equal(s.Etcd.Members, want) || !slices.Equal(s.Etcd.Alarms, test.alarms) || !s.LastBackup.Time.Equal(backup) {
				t.Errorf("%+v, backup %v", s.Etcd, s.LastBackup)
			}
		})
	}
}

func TestReader_knowsProcessesWithinItsOwn(t *testing.T) {
	r := &Reader{Began: time.Now(), Parts: []string{"controller", "primary"}, ListGone: func() ([]string, bool) { return nil, false },
		ListTerminating: func() []string { return nil },
		EtcdState:       func() (maintenance.State, bool, bool) { return maintenance.State{}, false, false }}
	s := r.ReadStatus()
	var names []string
	for _, one := range s.Processes {
		names = append(names, one.Name)
	}
	want := []string{processSelf, "controller", "primary"}
	if !slices.Equal(names, want) || slices.Contains(partsOf(s.Unknown), "processes") {
		t.Errorf("processes %q, want %q; unknown %q", names, want, partsOf(s.Unknown))
	}
}
