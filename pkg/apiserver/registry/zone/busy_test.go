// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/standalone"
)

// S7.10: a Zone under concurrent writes of Records can be read and updated within client-go's RetryOnConflict.
func TestUpdate_ofABusyZone_S7_10(t *testing.T) {
	up := standalone.Start(t)
	zones := up.KubizoneV1alpha1().Zones("platform")
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "org"}, Spec: v1alpha1.ZoneSpec{DomainName: "example.org.", Delegations: []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}}}}
	must.Get(zones.Create(t.Context(), zone, metav1.CreateOptions{}))(t)
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	defer writers.Wait()
	defer stop()
	for w := range 8 {
		records := up.KubizoneV1alpha1().Records("team")
		name := fmt.Sprintf("w%d", w)
		record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RecordSpec{DomainName: name + ".example.org.", Type: "A", RData: "192.0.2.1"}}
		must.Get(records.Create(t.Context(), record, metav1.CreateOptions{}))(t)
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				patch := fmt.Sprintf(`{"spec":{"rdata":"192.0.2.%d"}}`, 1+i%200)
				if _, err := records.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	tries, moved := 0, 0
	for i := range 30 {
		var last string
		err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
			tries++
			z, err := zones.Get(t.Context(), "org", metav1.GetOptions{})
			if err != nil {
				return err
			}
			last = z.ResourceVersion
			for now := z; now.ResourceVersion == last; { // concurrent writes
				if now, err = zones.Get(t.Context(), "org", metav1.GetOptions{}); err != nil {
					return err
				}
			}
			z.Labels = map[string]string{"turn": fmt.Sprint(i)}
			z, err = zones.Update(t.Context(), z, metav1.UpdateOptions{})
			if err == nil && z.Labels["turn"] != fmt.Sprint(i) {
				t.Errorf("%v: want turn %d", z.Labels, i)
			}
			return err
		})
		if err != nil {
			t.Errorf("update %d: %v", i, err)
		}
		moved++
	}
	t.Logf("%d updates took %d tries", moved, tries)
}

// S7.10: an update over another user's or controller's change is refused.
func TestUpdate_ofAChangedZone_S7_10(t *testing.T) {
	up := standalone.Start(t)
	zones, records := up.KubizoneV1alpha1().Zones("platform"), up.KubizoneV1alpha1().Records("platform")
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "org"}, Spec: v1alpha1.ZoneSpec{DomainName: "example.org.", Delegations: []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}}}}
	must.Get(zones.Create(t.Context(), zone, metav1.CreateOptions{}))(t)
	patch := func(text string, subresources ...string) error {
		_, err := zones.Patch(t.Context(), "org", types.MergePatchType, []byte(text), metav1.PatchOptions{}, subresources...)
		return err
	}
	n := 0
	addRecord := func() error {
		n++
		record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("r%d", n)}, Spec: v1alpha1.RecordSpec{DomainName: fmt.Sprintf("r%d.example.org.", n), Type: "A", RData: "192.0.2.1"}}
		_, err := records.Create(t.Context(), record, metav1.CreateOptions{})
		return err
	}
	condition := func(kind string) string {
		z := must.Get(zones.Get(t.Context(), "org", metav1.GetOptions{}))(t)
		all := append(z.Status.Conditions, metav1.Condition{Type: kind, Status: "True", Reason: "Test", LastTransitionTime: metav1.Now()})
		text := must.Get(json.Marshal(map[string]any{"status": map[string]any{"conditions": all}}))(t)
		return string(text)
	}
	for _, test := range []struct {
		what    string
		change  func() error
		refused bool
	}{
		{"a Record", addRecord, false},
		{"two Records", func() error { return errors.Join(addRecord(), addRecord()) }, false},
		{"spec", func() error { return patch(`{"spec":{"ttl":77}}`) }, true},
		{"spec and back", func() error { return errors.Join(patch(`{"spec":{"ttl":78}}`), patch(`{"spec":{"ttl":77}}`)) }, true},
		{"a label", func() error { return errors.Join(patch(`{"metadata":{"labels":{"a":"b"}}}`), addRecord()) }, true},
		{"an annotation", func() error { return patch(`{"metadata":{"annotations":{"a":"b"}}}`) }, true},
		{"a finalizer", func() error { return patch(`{"metadata":{"finalizers":["example.org/f"]}}`) }, true},
		{"a condition of another controller", func() error { return patch(condition("example.org/Approved"), "status") }, true},
		{"a condition of another controller, and a Record", func() error { return errors.Join(patch(condition("example.org/Seen"), "status"), addRecord()) }, true},
	} {
		z := must.Get(zones.Get(t.Context(), "org", metav1.GetOptions{}))(t)
		if err := test.change(); err != nil {
			t.Fatalf("%s: %v", test.what, err)
		}
		now := must.Get(zones.Get(t.Context(), "org", metav1.GetOptions{}))(t)
		z.Spec.DeletionProtection = !z.Spec.DeletionProtection
		after, err := zones.Update(t.Context(), z, metav1.UpdateOptions{})
		if test.refused {
			if !apierrors.IsConflict(err) {
				t.Errorf("%s changed since: %v, want 409", test.what, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s changed since: %v", test.what, err)
			continue
		}
		if after.Status.Serial != now.Status.Serial || after.Spec.DeletionProtection != z.Spec.DeletionProtection || after.Generation != now.Generation+1 {
			t.Errorf("%s changed since: serial %d, want %d; deletionProtection %t; generation %d", test.what, after.Status.Serial, now.Status.Serial, after.Spec.DeletionProtection, after.Generation)
		}
	}
	// A foreign, an older and a future version.
	z := must.Get(zones.Get(t.Context(), "org", metav1.GetOptions{}))(t)
	for _, version := range []string{"1", "128", "9007199254740992"} {
		z.ResourceVersion = version
		if _, err := zones.Update(t.Context(), z, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("version %s: %v, want 409", version, err)
		}
	}
}
