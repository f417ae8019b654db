// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package names_denied proves: if a Knot lets the class's key update only some names of a zone, Records at other names
// report the refusal, and everything else is delivered. A Record never delivered delays neither the Record's deletion
// nor the Zone's. If Knot refuses to remove a Record, the removal stays pending until Knot permits it.
package names_denied

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/cmd/up"
	"kubi.zone/kubizone/test/interop/subject"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/standalone"
)

var key = rig.TSIGKey{Name: "update.example", Algorithm: "hmac-sha256", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}

func TestKnotDeniesSomeNames(t *testing.T) {
	ctx := subject.Within(t, 5*time.Minute)
	text := "%[1]s 60 IN SOA ns.%[1]s host.%[1]s 1 3600 600 86400 60\n%[1]s 60 IN NS ns.%[1]s\nns.%[1]s 60 IN A 192.0.2.53\n"
	var knot *rig.Knot
	// begin restarts Knot with had, and lets the key update the owners.
	begin := func(had string, owners ...string) {
		t.Helper()
		config := rig.KnotConfig{Key: &key, UpdateOwners: owners, Zones: []rig.PrimaryZone{
			{Zone: "example.org.", Text: fmt.Sprintf(text, "example.org.") + had, UpdateKey: key.Name},
			{Zone: "example.net.", Text: fmt.Sprintf(text, "example.net."), UpdateKey: key.Name},
		}}
		if knot != nil {
			config.Addr = knot.Addr
			knot.Close()
		}

		knot = rig.Need(rig.StartKnot(ctx, config))(t)
	}
	begin("", "ns", "ok", "www")
	t.Cleanup(func() { knot.Close() })
	secrets := t.TempDir()
	for file, text := range map[string]string{"name": key.Name, "algorithm": key.Algorithm, "secret": key.Secret} {
		must.Succeed(t, os.MkdirAll(filepath.Join(secrets, "dns", "update"), 0o700))
		must.Succeed(t, os.WriteFile(filepath.Join(secrets, "dns", "update", file), []byte(text), 0o600))
	}
	s := standalone.Start(t, func(o *up.Options) { o.SecretsDir = secrets })
	api := s.KubizoneV1alpha1()
	until := func(what string, so func() bool) {
		t.Helper()
		for !so() {
			select {
			case <-ctx.Done():
				list, _ := api.Deliveries("team").List(t.Context(), metav1.ListOptions{})
				var message strings.Builder
				for _, one := range list.Items {
					fmt.Fprintf(&message, "\n%s: %+v", one.Name, one.Status)
				}
				t.Fatalf("never so: %s%s", what, message.String())
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	must.Get(api.DNSClasses().Create(ctx, &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "knot"}, Spec: v1alpha1.DNSClassSpec{
		AllowLocalAddresses: true, Namespaces: &v1alpha1.NamespaceSelection{Names: []string{"team"}},
		RFC2136: &v1alpha1.RFC2136Provider{Server: knot.Addr.String(), TSIGSecretRef: v1alpha1.SecretReference{Namespace: "dns", Name: "update"}},
	}}, metav1.CreateOptions{}))(t)
	for _, name := range []string{"org", "net"} {
		must.Get(api.Zones("team").Create(ctx, &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ZoneSpec{
			DomainName: "example." + name + ".", NameServers: []v1alpha1.NameServer{{Name: "ns", Addresses: []string{"192.0.2.53"}}},
			Delegations:  []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}},
			DNSClassRefs: []v1alpha1.DNSClassReference{{Name: "knot"}},
		}}, metav1.CreateOptions{}))(t)
	}
	for _, name := range []string{"forbidden", "ok", "www"} {
		must.Get(api.Records("team").Create(ctx, &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RecordSpec{
			DomainName: name, ZoneRef: &v1alpha1.ZoneReference{Name: "org"}, Type: "A", RData: "192.0.2.1",
		}}, metav1.CreateOptions{}))(t)
	}
	ready := func(conditions []metav1.Condition) string {
		if is := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady); is != nil {
			return string(is.Status) + " " + is.Reason
		}
		return ""
	}
	record := func(name string) string {
		one, err := api.Records("team").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		return ready(one.Status.Conditions)
	}
	zone := func(name string) string {
		one, err := api.Zones("team").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		return ready(one.Status.Conditions)
	}
	answers := func(fqdn string) bool {
		out, err := rig.Dig{Server: knot.Addr}.Run(ctx, "+short", "+norecurse", "A", fqdn)
		return err == nil && strings.TrimSpace(out) == "192.0.2.1"
	}
	until("the names that the key may update are delivered", func() bool {
		return record("ok") == "True Delivered" && record("www") == "True Delivered" && answers("ok.example.org.") && answers("www.example.org.")
	})
	until("the other one says why it is not", func() bool {
		return record("forbidden") == "False ValidationFailed" && zone("org") == "False ValidationFailed"
	})
	until("another zone of the class is delivered", func() bool { return zone("net") == "True Delivered" })

	must.Succeed(t, api.Records("team").Delete(ctx, "forbidden", metav1.DeleteOptions{}))
	until("a Record that was never taken goes, and leaves nothing owed", func() bool { return zone("org") == "True Delivered" })

	had := "ok.example.org. 360 IN A 192.0.2.1\nwww.example.org. 360 IN A 192.0.2.1\n"
	begin(had, "ns", "www")
	must.Succeed(t, api.Records("team").Delete(ctx, "ok", metav1.DeleteOptions{}))
	tried := func(request string) {
		t.Helper()
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationVerifyRequestedAt, request)
		must.Get(api.Zones("team").Patch(ctx, "org", types.MergePatchType, patch, metav1.PatchOptions{}))(t)
		until("what is refused is tried again", func() bool {
			list, err := api.Deliveries("team").List(ctx, metav1.ListOptions{})
			return err == nil && slices.ContainsFunc(list.Items, func(one v1alpha1.Delivery) bool { return one.Status.LastVerifyRequest == request })
		})
	}
	until("a Record that may not be removed is refused", func() bool { return zone("org") == "False ValidationFailed" })
	tried("while it is denied")
	if message := zone("org"); message != "False ValidationFailed" || !answers("ok.example.org.") {
		t.Errorf("the name is served, %v, and the Zone says %s", answers("ok.example.org."), message)
	}
	begin(had)
	tried("when it is allowed")
	until("it is removed as soon as that is allowed", func() bool { return zone("org") == "True Delivered" && !answers("ok.example.org.") })
	for _, name := range []string{"org", "net"} {
		must.Succeed(t, api.Zones("team").Delete(ctx, name, metav1.DeleteOptions{}))
	}
	until("both Zones go, and what was theirs with them", func() bool {
		list, err := api.Zones("team").List(ctx, metav1.ListOptions{})
		return err == nil && len(list.Items) == 0 && !answers("ok.example.org.") && !answers("www.example.org.")
	})
}
