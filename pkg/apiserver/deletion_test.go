// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// S8.1: content of other namespaces protects a Zone from every kind of deletion, until the command in the refusal is
// run. A Zone with a finalizer is judged once, when marked.
func TestServer_deletesNothingOfOthersUnasked_S8_1(t *testing.T) {
	ctx, api := t.Context(), startWholeServer(t)
	zones, tenant := api.Zones("inuse"), api.Records("tenant")
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "shared", Finalizers: []string{"example.org/held"}}}
	zone.Spec.DomainName, zone.Spec.NameServers = "shared.example.", []v1alpha1.NameServer{{Name: "ns.example.net."}}
	zone.Spec.Delegations = []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}}
	zone = must.Get(zones.Create(ctx, zone, metav1.CreateOptions{}))(t)
	record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "www"}}
	record.Spec.DomainName, record.Spec.Type, record.Spec.RData = "www.shared.example.", "A", "192.0.2.1"
	must.Get(tenant.Create(ctx, record, metav1.CreateOptions{}))(t)
	dry := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
	ways := map[string]func() error{
		"delete":             func() error { return zones.Delete(ctx, "shared", metav1.DeleteOptions{}) },
		"dry run":            func() error { return zones.Delete(ctx, "shared", dry) },
		"collection":         func() error { return zones.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}) },
		"dry run of several": func() error { return zones.DeleteCollection(ctx, dry, metav1.ListOptions{}) },
		"foreground": func() error {
			return zones.Delete(ctx, "shared", metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationForeground)})
		},
		"force": func() error {
			return zones.Delete(ctx, "shared", metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
		},
	}
	change := func(metadata string) {
		t.Helper()
		must.Get(zones.Patch(ctx, "shared", types.MergePatchType, []byte(`{"metadata":`+metadata+`}`), metav1.PatchOptions{}))(t)
	}
	annotate := func(value string) {
		t.Helper()
		change(fmt.Sprintf(`{"annotations":{"kubi.zone/delete":%q}}`, value))
	}
	command := "kubectl annotate zone shared -n inuse kubi.zone/delete=" + string(zone.UID)
	for _, held := range []bool{true, false} { // by a finalizer
		for _, value := range []string{"", "true", "another-uid"} {
			annotate(value)
			for way, remove := range ways {
				err := remove()
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), command) || !strings.Contains(err.Error(),
					"1 record of 1 other namespace (www.shared.example.)") || strings.Contains(err.Error(), "tenant") {
					t.Errorf("%s with %q, held %t: %v", way, value, held, err)
				}
			}
		}
		if held {
			change(`{"finalizers":null}`)
		}
	}
	if left, err := zones.Get(ctx, "shared", metav1.GetOptions{}); err != nil || left.DeletionTimestamp != nil {
		t.Fatalf("a refused deletion left a mark: %v", err)
	}
	annotate(string(zone.UID))
	change(`{"finalizers":["example.org/held"]}`)
	must.Succeed(t, zones.Delete(ctx, "shared", dry))
	must.Succeed(t, zones.Delete(ctx, "shared", metav1.DeleteOptions{}))
	annotate("") // no longer matters
	change(`{"finalizers":null}`)
	if left, err := zones.Get(ctx, "shared", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the zone stands with finalizers %v: %v", left.Finalizers, err)
	}
}
