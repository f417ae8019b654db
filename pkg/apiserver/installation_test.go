// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"slices"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// The Installation of a running server lists the process, the leading member of etcd and the certificate. A part about
// which the server has no data appears in `unknown` with the reason, and is never left out silently.
func TestInstallation_describesARealServer(t *testing.T) {
	client := startWholeServer(t)
	var got *v1alpha1.Installation
	for until := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		got = must.Get(client.Installations().Get(t.Context(), v1alpha1.InstallationName, metav1.GetOptions{}))(t)
		if got.Status.Etcd != nil || time.Now().After(until) {
			break
		}
	}
	s := got.Status
	if len(s.Processes) != 1 || s.Processes[0].Name != "apiserver" || time.Since(s.Processes[0].Started.Time) > time.Hour {
		t.Errorf("processes %+v", s.Processes)
	}
	if s.Etcd == nil || len(s.Etcd.Members) != 1 || !s.Etcd.Members[0].Leader || s.Etcd.Members[0].QuotaBytes == 0 ||
		len(s.Etcd.Alarms) > 0 {
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

// The Installation describes the platform's processes, etcd and certificates, so no role of a tenant may read it. Only
// kubizone-operator has the right, and has no label that would aggregate it into view, edit or admin (attack 113).
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
