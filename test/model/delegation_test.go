// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

var delegated = flag.Int("delegated", 1000, "records whose delegation is withdrawn and widened again")

// TestDelegation_withdrawnAndWidened: the records of a tenant leave a zone when their delegation goes, and come back
// when a wider one is there (S2.3, S2.5). While that lasts the zone is not settled, each step has a serial of its
// own, and what was delivered stays (S7.2). In the end the same definition has the same hash (S6.4).
func TestDelegation_withdrawnAndWidened(t *testing.T) {
	w := need(t)
	ctx := t.Context()
	apis := [2]typed.KubizoneV1alpha1Interface{w.api(t, 0), w.api(t, 1)}
	rule := func(pattern string) []v1alpha1.DelegationRule {
		return []v1alpha1.DelegationRule{{Namespace: "a", Records: []v1alpha1.RecordDelegation{{Pattern: pattern}}}}
	}
	made, err := apis[0].Zones("owner").Create(ctx, &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "wide"}, Spec: v1alpha1.ZoneSpec{
		Limits:     &v1alpha1.ZoneLimits{MaxDeletePercent: new(int32(100))},
		DomainName: "wide.test.", Delegations: rule("*.t"), NameServers: []v1alpha1.NameServer{{Name: "ns.example.net."}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	for worker := range 16 {
		wait.Go(func() {
			for n := next.Add(1); n <= int64(*delegated); n = next.Add(1) {
				name := fmt.Sprintf("wide-%d", n)
				if _, err := apis[worker%2].Records("a").Create(ctx, &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RecordSpec{DomainName: name + ".t.wide.test.", Type: "A", RData: "192.0.2.1"}}, metav1.CreateOptions{}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	wait.Wait()
	full := w.settledZone(t, apis[1])
	if got := full.Status.EntryCount - made.Status.EntryCount; got != int64(*delegated) {
		t.Fatalf("%d records came in, %d were written", got, *delegated)
	}
	if grown := full.Status.ContentGeneration - made.Status.ContentGeneration; grown != int64(*delegated) {
		t.Errorf("S6.5: %d records are %d serials", *delegated, grown)
	}

	change := func(rules []v1alpha1.DelegationRule) *v1alpha1.Zone {
		t.Helper()
		var z *v1alpha1.Zone
		if err := retry.RetryOnConflict(retry.DefaultRetry, func() (err error) {
			if z, err = apis[0].Zones("owner").Get(ctx, "wide", metav1.GetOptions{}); err != nil {
				return err
			}
			z.Spec.Delegations = rules
			z, err = apis[0].Zones("owner").Update(ctx, z, metav1.UpdateOptions{})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return z
	}
	began := time.Now()
	change(nil)
	empty := w.settledZone(t, apis[1])
	if empty.Status.EntryCount != made.Status.EntryCount || empty.Status.Hash != made.Status.Hash {
		t.Errorf("S2.5: %d entries and hash %.8s are left, %d and %.8s were there before", empty.Status.EntryCount, empty.Status.Hash, made.Status.EntryCount, made.Status.Hash)
	}
	if grown := empty.Status.ContentGeneration - full.Status.ContentGeneration; grown != int64(*delegated) {
		t.Errorf("S7.2: releasing %d records took %d serials", *delegated, grown)
	}
	w.adopted(ctx, t, apis[0], "False", "DelegationWithdrawn")
	withdrawn := time.Since(began)

	began = time.Now()
	change(rule("*"))
	again := w.settledZone(t, apis[1])
	if again.Status.Hash != full.Status.Hash || again.Status.EntryCount != full.Status.EntryCount {
		t.Errorf("S6.4: hash %.8s with %d entries, before it was %.8s with %d", again.Status.Hash, again.Status.EntryCount, full.Status.Hash, full.Status.EntryCount)
	}
	w.adopted(ctx, t, apis[0], "True", "")
	t.Logf("%d records: withdrawn in %s, widened in %s", *delegated, withdrawn.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	if r := w.fsck(t, 0); !r.Clean() {
		t.Errorf("fsck: %v", r.Damage.List)
	}
}

// settledZone waits until the zone is through with what its rules brought about.
func (w *world) settledZone(t *testing.T, api typed.KubizoneV1alpha1Interface) *v1alpha1.Zone {
	t.Helper()
	for deadline := time.Now().Add(waitTimeout + time.Duration(*delegated)*50*time.Millisecond); ; time.Sleep(50 * time.Millisecond) {
		z, err := api.Zones("owner").Get(t.Context(), "wide", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		through := apimeta.IsStatusConditionTrue(z.Status.Conditions, "Settled")
		if through && z.Status.SettledSerial != z.Status.Serial {
			t.Fatalf("S7.2: it is settled at serial %d, settledSerial is %d", z.Status.Serial, z.Status.SettledSerial)
		}
		if through {
			return z
		}
		if time.Now().After(deadline) {
			t.Fatalf("the zone does not settle: %+v", z.Status)
		}
	}
}

// adopted: every record of the tenant says so.
func (w *world) adopted(ctx context.Context, t *testing.T, api typed.KubizoneV1alpha1Interface, status metav1.ConditionStatus, reason string) {
	t.Helper()
	all, err := api.Records("a").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range all.Items {
		if r.Spec.Type != "A" || len(r.Name) < 5 || r.Name[:5] != "wide-" {
			continue
		}
		n++
		if a := apimeta.FindStatusCondition(r.Status.Conditions, "Adopted"); a == nil || a.Status != status || reason != "" && a.Reason != reason {
			t.Errorf("%s: Adopted is %+v, want %s %s", r.Name, a, status, reason)
			return
		}
	}
	if n != *delegated {
		t.Errorf("%d records, want %d", n, *delegated)
	}
}
