// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/etcd/maintenance"
	"kubi.zone/kubizone/pkg/pki"
	"kubi.zone/kubizone/test/must"
)

// The Installation of a real server has its process, the leading etcd and the certificate. No part that the server does
// not know is left out without the reason.
func TestInstallation_tellsOfARealServer(t *testing.T) {
	client := startWholeServer(t)
	var got *v1alpha1.Installation
	for until := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		got = must.Get(client.Installations().Get(t.Context(), v1alpha1.InstallationName, metav1.GetOptions{}))(t)
		if got.Status.Etcd != nil || time.Now().After(until) {
			break
		}
	}
	s := got.Status
	if len(s.Processes) != 1 || s.Processes[0].Name != "apiserver" || time.Since(s.Processes[0].Started.Time) > time.Minute {
		t.Errorf("processes %+v", s.Processes)
	}
	if s.Etcd == nil || len(s.Etcd.Members) != 1 || !s.Etcd.Members[0].Leader || s.Etcd.Members[0].QuotaBytes == 0 || len(s.Etcd.Alarms) > 0 {
		t.Errorf("etcd %+v", s.Etcd)
	}
	if len(s.Certificates) != 1 || s.Certificates[0].Name != "serving" || !s.Certificates[0].NotAfter.After(time.Now()) {
		t.Errorf("certificates %+v", s.Certificates)
	}
	if parts := partsOf(s.Unknown); !slices.Equal(parts, []string{"processes", "backup"}) {
		t.Errorf("unknown %+v", s.Unknown)
	}
	if _, err := client.Installations().Get(t.Context(), "other", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("another name: %v", err)
	}
	for _, verb := range []string{"GET", "DELETE", "POST"} {
		err := client.RESTClient().Verb(verb).Resource("installations").Do(t.Context()).Error()
		if !apierrors.IsNotFound(err) { // no path
			t.Errorf("%s of all Installations: %v", verb, err)
		}
	}
}

func partsOf(unknown []v1alpha1.InstallationUnknown) (parts []string) {
	for _, one := range unknown {
		parts = append(parts, one.Part)
	}
	return parts
}

func TestInstallationReader_namesWhatItDoesNotKnow(t *testing.T) {
	dir := t.TempDir()
	us := must.Get(pki.Open(dir, pki.Hosts("127.0.0.1"), time.Now()))(t)
	certificate, broken := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "broken.crt")
	must.Succeed(t, os.WriteFile(certificate, us.ServingCert, 0o600))
	must.Succeed(t, os.WriteFile(broken, []byte("nothing"), 0o600))
	serving := must.Get(dynamiccertificates.NewStaticCertKeyContent("test", us.ServingCert, us.ServingKey))(t)
	backup := time.Now().Add(-time.Hour).Truncate(time.Second)
	checked := maintenance.State{Checked: time.Now(), Backup: backup, Members: []maintenance.Member{
		{Endpoint: "a", Leads: true, Version: "3.6", Size: 3, InUse: 2, Quota: 9}, {Endpoint: "b", Err: errors.New("no answer")}}}
	for _, test := range []struct {
		name          string
		state         maintenance.State
		full, corrupt bool
		files         storagebackend.TransportConfig
		alarms, names []string
		unknown       []string
	}{
		{name: "before the first check", names: []string{"serving"}, unknown: []string{"processes", "etcd", "backup"}},
		{name: "checked", state: checked, names: []string{"serving"}, unknown: []string{"processes"}},
		{name: "alarms", state: checked, full: true, corrupt: true, alarms: []string{"NOSPACE", "CORRUPT"}, names: []string{"serving"},
			unknown: []string{"processes"}},
		{name: "files of etcd", state: checked, files: storagebackend.TransportConfig{CertFile: certificate, TrustedCAFile: broken},
			names: []string{"serving", "etcd-client"}, unknown: []string{"processes", "certificates"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &installationReader{began: time.Now(), serving: serving, etcdFiles: test.files,
				etcdState: func() (maintenance.State, bool, bool) { return test.state, test.full, test.corrupt }}
			s := r.readStatus()
			var names []string
			for _, one := range s.Certificates {
				names = append(names, one.Name)
			}
			if parts := partsOf(s.Unknown); !slices.Equal(parts, test.unknown) || !slices.Equal(names, test.names) {
				t.Errorf("certificates %q, unknown %+v", names, s.Unknown)
			}
			if test.state.Checked.IsZero() {
				if s.Etcd != nil || s.LastBackup != nil {
					t.Errorf("%+v", s)
				}
				return
			}
			want := []v1alpha1.InstallationEtcdMember{{Endpoint: "a", Leader: true, Version: "3.6", SizeBytes: 3, InUseBytes: 2, QuotaBytes: 9},
				{Endpoint: "b", Error: "no answer"}}
			if !slices.Equal(s.Etcd.Members, want) || !slices.Equal(s.Etcd.Alarms, test.alarms) || !s.LastBackup.Time.Equal(backup) {
				t.Errorf("%+v, backup %v", s.Etcd, s.LastBackup)
			}
		})
	}
}

// Attack: no role of a tenant reads the Installation, and no aggregation adds it to view, edit or admin.
func TestInstallation_isInNoRoleOfATenant(t *testing.T) {
	found := 0
	eachRole(t, func(role *rbacv1.ClusterRole) {
		for _, rule := range role.Rules {
			if slices.Contains(rule.Resources, "installations") || slices.Contains(rule.Resources, "*") {
				found++
				if role.Name != "kubizone-operator" || !slices.Equal(rule.Verbs, []string{"get"}) || len(role.Labels) != 1 {
					t.Errorf("%s has %v, labels %v", role.Name, rule, role.Labels)
				}
			}
		}
	})
	if found != 1 {
		t.Errorf("%d roles have it", found)
	}
}
