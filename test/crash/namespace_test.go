// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package crash

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// A namespace terminates and is not emptied, as long as kube-controller-manager is away, while its delegation is
// withdrawn: its records are released, and a rule that comes back takes none of them in, also through a restart of the
// server. Then it is finalized by force with a record left, and that is decided as the rules say (S2.8).
func TestNamespace_terminatesUnderACascade_S2_8(t *testing.T) {
	w := need(t)
	ctx := within(t, 2*waitTimeout)
	e := startEtcd(ctx, t, 1, false)
	one := w.server(ctx, t, e.endpoints())
	api := w.clientsOf(t, one)[0]
	const leaving = "leaving"
	if err := w.kube.Namespace(ctx, leaving); err != nil {
		t.Fatal(err)
	}
	if _, err := api.Zones(owner).Create(ctx, zone(owner, "one", "one.test.", anyName), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	stays := teams()[0]
	for namespace, names := range map[string][]string{leaving: {"removed", "left"}, stays: {"stays"}} {
		for _, name := range names {
			// Admission follows namespaces by a watch, and this one came a moment ago.
			until(ctx, t, "the record is made", func() error {
				_, err := api.Records(namespace).Create(ctx, txt(namespace, name, name+".one.test.", "x"), metav1.CreateOptions{})
				return err
			})
		}
	}
	namespaces := must(w.kube.Clients())(t).CoreV1().Namespaces()
	if err := namespaces.Delete(ctx, leaving, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(ctx, t, "the server has heard that the namespace terminates", func() error {
		_, err := api.Records(leaving).Create(ctx, txt(leaving, "new", "new.one.test.", "x"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), "being terminated") {
			return fmt.Errorf("a new record there: %v", err)
		}
		return nil
	})
	in := func(namespace, name string) bool {
		t.Helper()
		return must(api.Records(namespace).Get(ctx, name, metav1.GetOptions{}))(t).Status.ZoneRef != nil
	}
	z := must(api.Zones(owner).Get(ctx, "one", metav1.GetOptions{}))(t)
	z.Spec.Delegations = []v1alpha1.DelegationRule{{Namespace: owner, Records: anyName.Records}}
	if _, err := api.Zones(owner).Update(ctx, z, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	through := func() {
		t.Helper()
		until(ctx, t, "nothing is owed but to the namespace", func() error {
			said, clean, _ := w.fsck(ctx, e)
			if !clean {
				t.Fatalf("fsck:\n%s", tail(said, 40))
			}
			if !strings.Contains(said, "cascades took in nothing that is in namespace "+leaving) || strings.Count(said, "(I4)") > 1 {
				return errors.New(tail(said, 10))
			}
			return nil
		})
		if in(leaving, "left") {
			t.Error("what is in a namespace that terminates is in the zone")
		}
	}
	through()
	if in(stays, "stays") {
		t.Error("what was withdrawn from a namespace that stays is in the zone")
	}
	z = must(api.Zones(owner).Get(ctx, "one", metav1.GetOptions{}))(t)
	z.Spec.Delegations = []v1alpha1.DelegationRule{anyName}
	if _, err := api.Zones(owner).Update(ctx, z, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	through()
	if !in(stays, "stays") {
		t.Error("a rule that came back does not count")
	}
	one.start(ctx, t) // killed first; it hears of namespaces before it goes on with cascades
	through()
	if err := api.Records(leaving).Delete(ctx, "removed", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	through()
	z = must(api.Zones(owner).Get(ctx, "one", metav1.GetOptions{}))(t)
	if z.Status.EntryCount != 4 { // SOA, NS, its address and what stays
		t.Errorf("%d entries", z.Status.EntryCount)
	}

	gone := must(namespaces.Get(ctx, leaving, metav1.GetOptions{}))(t)
	gone.Spec.Finalizers = nil
	if _, err := namespaces.Finalize(ctx, gone, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	until(ctx, t, "nothing is owed", func() error {
		said, clean, settled := w.fsck(ctx, e)
		if !clean || !settled {
			return errors.New(tail(said, 10))
		}
		return nil
	})
	if !in(leaving, "left") {
		t.Error("what a namespace left that is gone was not decided anew")
	}
	w.agree(ctx, t, one)
}
