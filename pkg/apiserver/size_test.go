// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// A Zone's status and metadata stay small with the longest names and any faults: conditions name examples, not all
// (S6.13).
func TestZone_isSmallBesideItsSpec_S6_12(t *testing.T) {
	api := startWholeServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	label := func(c string) string { return strings.Repeat(c, 63) }
	apply := func(namespace, name, spec string) *v1alpha1.Zone {
		t.Helper()
		body := fmt.Appendf(nil, `{"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"name":%q,`+
			`"finalizers":["kubi.zone/delivery"]},"spec":%s}`, name, spec)
		return must.Get(api.Zones(namespace).Patch(ctx, name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "kubectl"}))(t)
	}
	// Every field, since managedFields has an entry for each.
	fields := func(domainName, more string) string {
		return fmt.Sprintf(`{"domainName":%q,"ttl":60,"refresh":86400,"retry":7200,"expire":3600000,"negativeResponseCache":60,"primaryNameServer":"ns.example.net.","contact":"host@example.net",`+
			`"minimumSerial":4000000000,"limits":{"recordsPerNamespace":9},"deletionProtection":true,"deletionPolicy":"Retain","delegations":[]%s}`, domainName, more)
	}
	measure := func(what string, zone *v1alpha1.Zone) {
		t.Helper()
		stored := zone.DeepCopy()
		stored.ResourceVersion = ""
		data := must.Get(runtime.Encode(install.New().StorageCodec(), stored))(t)
		got := len(data) - zone.Spec.Size()
		t.Logf("%s: %d octets beside its spec, %d of them status", what, got, zone.Status.Size())
		if got > 2200 { // octets: the longest name and the parent's
			t.Errorf("%s: %d octets beside its spec: %+v", what, got, zone.Status)
		}
	}
	ready := func(zone *v1alpha1.Zone, message string) *v1alpha1.Zone {
		t.Helper()
		patch := must.Get(json.Marshal(map[string]any{"metadata": map[string]any{"uid": zone.UID}, "status": map[string]any{
			"serial": zone.Status.Serial, "conditions": []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: "False",
				Reason: "ConnectionFailed", Message: message, ObservedGeneration: zone.Generation,
				LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour))}}}}))(t) // not the server's time, so managedFields has an entry
		return must.Get(api.Zones(zone.Namespace).Patch(ctx, zone.Name, types.MergePatchType, patch,
			metav1.PatchOptions{FieldManager: "kubizone-controller"}, "status"))(t)
	}

	// The longest name: four labels and one letter.
	parent := label("a") + "." + label("b") + "." + label("c") + "." + strings.Repeat("d", 59) + "."
	apply("size-parent", "parent", fmt.Sprintf(`{"domainName":%q,"delegations":[{"zones":["*"]}]}`, parent))
	child := apply("size-tenant", "longest", fields("e."+parent, `,"nameServers":[{"name":"ns.example.net."}]`))
	if len(child.Status.FQDN) != 254 || !meta.IsStatusConditionTrue(child.Status.Conditions, v1alpha1.ConditionDelegated) {
		t.Fatalf("%+v", child.Status)
	}
	measure("without a class", ready(child, strings.Repeat("x", 300))) // the limit of pkg/delivery/controller/class for messages
	// Without a rule the status also has the end of its period.
	apply("size-parent", "parent", fmt.Sprintf(`{"domainName":%q}`, parent))
	rig.Until(ctx, t, "the delegation is withdrawn", func() (err error) {
		if child, err = api.Zones("size-tenant").Get(ctx, "longest", metav1.GetOptions{}); err == nil && child.Status.EndsAt == nil {
			err = fmt.Errorf("status: %+v", child.Status)
		}
		return err
	})
	measure("not delegated any more", ready(child, strings.Repeat("x", 300)))

	// The condition names some of the faults.
	var servers []string
	for i := range 24 {
		servers = append(servers, fmt.Sprintf(`{"name":"%s%02d"}`, strings.Repeat("n", 61), i))
	}
	without := apply("size-tenant", "without", fields("without.example.", fmt.Sprintf(`,"nameServers":[%s]`, strings.Join(servers, ","))))
	servable := meta.FindStatusCondition(without.Status.Conditions, v1alpha1.ConditionServable)
	if servable == nil || servable.Reason != v1alpha1.ReasonNameServerWithoutAddress || !strings.Contains(servable.Message, strings.Repeat("n", 61)+"00") {
		t.Errorf("%+v", servable)
	}
	measure("24 name servers without an address", without)
}
