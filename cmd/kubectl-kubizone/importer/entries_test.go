// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/pkg/client/load"
	"kubi.zone/kubizone/test/must"
)

func (s *server) readEntries() map[[3]string]string {
	s.t.Helper()
	all := make(map[[3]string]string)
	for _, zone := range must.Get(s.KubizoneV1alpha1().Zones("").List(s.t.Context(), metav1.ListOptions{}))(s.t).Items {
		if zone.Status.FQDN == "" {
			continue
		}
		id := types.NamespacedName{Namespace: zone.Namespace, Name: zone.Name}
		text := must.Get(load.OpenEntries(s.t.Context(), s, id))(s.t)
		for lines := bufio.NewScanner(text); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), ";") {
				continue
			}
			parts := strings.Split(lines.Text(), "\t")
			key, data := [3]string{id.String(), parts[0], parts[3]}, parts[4]
			if parts[3] == "SOA" {
				fields := strings.Fields(data)
				data = strings.Join(slices.Delete(fields, 2, 3), " ")
			}
			if all[key] == "" {
				all[key] = parts[1] + " " + data
			} else {
				all[key] += ", " + data
			}
		}
		must.Succeed(s.t, text.Close())
	}
	return all
}

// S6.1 to S6.5: a plan shows exactly the changed entries, also in parents.
func TestPlan_showsTheEntriesOfZones_S6_2(t *testing.T) {
	s := startServer(t)
	zone := func(namespace, name, spec string) string {
		return fmt.Sprintf("apiVersion: kubi.zone/v1alpha1\nkind: Zone\n"+
			"metadata: {namespace: %s, name: %s, labels: {set: dns}}\nspec: {%s}\n---\n", namespace, name, spec)
	}
	const rules = `delegations: [{namespace: dns, records: [{pattern: "*"}, {pattern: "@"}], zones: ["*"]}, ` +
		`{namespace: team, zones: [apps]}]`
	const own = `delegations: [{namespace: team, records: [{pattern: "*"}]}]`
	first := zone("dns", "org", "domainName: example.org., nameServers: [{name: ns1, addresses: [192.0.2.1]}], "+rules)
	grown := zone("dns", "org", "domainName: example.org., ttl: 600, refresh: 3600, retry: 60, negativeResponseCache: 30, "+
		"nameServers: [{name: ns1, addresses: [192.0.2.7]}, {name: ns2, addresses: [192.0.2.2, '2001:db8::2']}, "+
		"{name: ns3, addresses: [192.0.2.3]}, {name: ns.example.net.}], "+rules)
	contact := zone("dns", "org", "domainName: example.org., ttl: 600, contact: dns@example.net, "+
		"nameServers: [{name: ns.example.net.}], "+rules)
	apps := func(spec string) string { return zone("team", "apps", "domainName: apps.example.org., "+own+spec) }
	records := `apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {namespace: dns, name: ns3}
spec: {domainName: ns3, zoneRef: {name: org}, type: A, rdata: 192.0.2.3}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {namespace: dns, name: ns}
spec: {domainName: "@", zoneRef: {name: org}, type: NS, values: [ns3, ns1]}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {namespace: dns, name: www}
spec: {domainName: www, zoneRef: {name: org}, type: A, rdata: 192.0.2.80}
`
	for _, step := range []struct {
		name, manifests string
		arguments       []string
		want            []string
		// records are applied without a plan.
		records string
	}{
		{name: "a zone", manifests: first, records: records, want: []string{"+ example.org. 360 NS ns1.example.org. (zone dns/org)",
			"+ example.org. SOA ttl 360, mname ns1.example.org., rname hostmaster.example.org., refresh 86400, retry 7200, " +
				"expire 3600000, minimum 360 (zone dns/org)"}},
		{name: "beside Records", manifests: grown, want: []string{
			"~ example.org. SOA: ttl 600 instead of 360, refresh 3600 instead of 86400, retry 60 instead of 7200, " +
				"minimum 30 instead of 360 (zone dns/org)",
			"~ example.org. NS: ttl 600 instead of 360, with ns.example.net., with ns2.example.org. (zone dns/org)",
			"~ ns1.example.org. A: ttl 600 instead of 360, with 192.0.2.7, without 192.0.2.1 (zone dns/org)",
			"~ ns3.example.org. A: ttl 600 instead of 360 (zone dns/org)",
			"+ ns2.example.org. 600 AAAA 2001:db8::2 (zone dns/org)",
			"~ example.org.: ttl 600 instead of 360 for Records without a ttl (RRsets: 1) (zone dns/org)"}},
		{name: "a child zone without an address", manifests: apps(", nameServers: [{name: ns1}]")},
		{name: "an address of it", manifests: apps(", nameServers: [{name: ns1, addresses: [192.0.2.60]}, {name: ns1.example.org.}]"),
			want: []string{"+ apps.example.org. 360 NS ns1.apps.example.org., ns1.example.org. (zone team/apps)",
				"+ ns1.apps.example.org. 360 A 192.0.2.60 (zone team/apps)"}},
		{name: "another", manifests: apps(", ttl: 60, nameServers: [{name: ns1, addresses: [192.0.2.61]}]"), want: []string{
			"~ apps.example.org. NS: ttl 60 instead of 360, without ns1.example.org. (zone team/apps)"}},
		{name: "what Records have stays", manifests: contact, want: []string{
			"~ example.org. NS: without ns2.example.org. (zone dns/org)"}},
		{name: "no child zone", manifests: contact, arguments: []string{"--prune", "-l", "set=dns"}, want: []string{
			"- apps.example.org. 60 NS ns1.apps.example.org. (zone team/apps)"}},
		{name: "two that are new", manifests: contact +
			zone("dns", "net", "domainName: example.net., nameServers: [{name: ns, addresses: [192.0.2.9]}], "+rules) +
			zone("team", "below", "domainName: apps, zoneRef: {namespace: dns, name: net}, "+
				"nameServers: [{name: ns, addresses: [192.0.2.8]}]"),
			want: []string{"+ apps.example.net. 360 NS ns.apps.example.net. (zone team/below; after: Zone dns/net)",
				"+ ns.apps.example.net. 360 A 192.0.2.8 (zone team/below; after: Zone dns/net)"}},
	} {
		t.Run(step.name, func(t *testing.T) {
			s := &server{t, s.kubeconfig, s.Interface}
			path := writeFile(t, "zones.yaml", step.manifests)
			planned := s.runPlan("", append([]string{"-f", path, "-o", "json"}, step.arguments...)...)
			var report struct {
				Zones []struct{ Changes []load.Change }
			}
			must.Succeed(t, json.Unmarshal([]byte(planned.out), &report))
			reported, lines := make(map[[3]string]string), []string(nil)
			for _, zone := range report.Zones {
				for _, c := range zone.Changes {
					lines = append(lines, c.String())
					if c.FQDN != "" {
						reported[[3]string{c.Zone, c.FQDN, c.Type}] += c.Op
					}
				}
			}
			for _, want := range step.want {
				if !slices.Contains(lines, want) {
					t.Errorf("nothing says %q in\n%s", want, strings.Join(lines, "\n"))
				}
			}
			before := s.readEntries()
			s.applyFile(path)
			if len(step.arguments) > 0 {
				must.Succeed(t, s.KubizoneV1alpha1().Zones("team").Delete(t.Context(), "apps", metav1.DeleteOptions{}))
			}
			after := s.readEntries()
			differ := make(map[[3]string]string)
			for key, has := range after {
				if had := before[key]; had == "" {
					differ[key] = "+"
				} else if had != has && key[1] != "www.example.org." { // Records share a single line
					differ[key] = "~"
				}
			}
			for key := range before {
				if after[key] == "" {
					differ[key] = "-"
				}
			}
			if !maps.Equal(reported, differ) {
				t.Errorf("planned %v\ncame    %v", reported, differ)
			}
			if step.records != "" {
				s.applyFile(writeFile(t, "records.yaml", step.records))
			}
		})
	}
}
