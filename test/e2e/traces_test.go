// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// `kubizone up` reports the same spans as separate servers. A change of a zone's rules is a commit, its child is the
// cascade, and the NOTIFY and the delivery link to the cascade.
func TestTraces_ofUp(t *testing.T) {
	collector := rig.NeedServer(rig.StartCollector(t.Context(), t.TempDir()))(t)
	config := filepath.Join(t.TempDir(), "tracing.yaml")
	must.Succeed(t, os.WriteFile(config, fmt.Appendf(nil, "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n"+
		"endpoint: %s\nsamplingRatePerMillion: 1000000\n", collector.Addr), 0o600))
	r := runUp(t, t.TempDir(), "--tracing-config-file", config)
	secondary := must.Get(rig.FreePort())(t)
	class := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "traced"}, Spec: v1alpha1.DNSClassSpec{
		AllowLocalAddresses: true, Namespaces: &v1alpha1.NamespaceSelection{Names: []string{"dns"}},
		Transfer: &v1alpha1.TransferProvider{Secondaries: []v1alpha1.Secondary{{Address: secondary.String()}}}}}
	must.Get(r.client.KubizoneV1alpha1().DNSClasses().Create(t.Context(), class, metav1.CreateOptions{}))(t)
	zones := r.client.KubizoneV1alpha1().Zones("dns")
	must.Get(zones.Create(t.Context(), &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "org"}, Spec: v1alpha1.ZoneSpec{
		DomainName: "example.org.", NameServers: []v1alpha1.NameServer{{Name: "ns.example.net."}},
		Delegations:  []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "www"}}}},
		DNSClassRefs: []v1alpha1.DNSClassReference{{Name: "traced"}}}}, metav1.CreateOptions{}))(t)
	r.makeRecord("www", "www.example.org.", "192.0.2.1")
	rig.NeedServer(rig.StartBIND(t.Context(), rig.BINDConfig{Addr: secondary, Secondaries: []rig.SecondaryZone{
		{Zone: "example.org.", Primary: netip.MustParseAddrPort(r.dns)}}}))(t)
	waitUntil(t, "the zone is delivered", func() bool { return strings.Contains(r.readConditions("org"), `"reason":"Delivered"`) })
	must.Get(zones.Patch(t.Context(), "org", types.MergePatchType, []byte(`{"spec":{"withdrawalGracePeriod":"0s","delegations":null}}`),
		metav1.PatchOptions{}))(t)
	waitUntil(t, "the spans link to their causes", func() bool {
		spans := collector.Spans()
		links := func(name string, cause rig.Span) bool {
			return slices.ContainsFunc(spans, func(s rig.Span) bool {
				return s.Name == name && s.Service == "kubizone-up" && slices.Contains(s.Links, cause.SpanID)
			})
		}
		return slices.ContainsFunc(spans, func(commit rig.Span) bool {
			return commit.Name == "Commit" && slices.ContainsFunc(spans, func(cascade rig.Span) bool {
				return cascade.Name == "Cascade" && cascade.ParentSpanID == commit.SpanID &&
					links("NOTIFY", cascade) && links("Deliver", cascade)
			})
		})
	})
}
