// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

const bindyDocument = "../../docs/migration-bindy.md"

// bindyBlock ends the info string of the blocks that this test runs; test/fleet runs the others.
const bindyBlock = " bindy"

// bindyObjects are bindy's objects beside those in the document.
const bindyObjects = `
apiVersion: bindy.firestoned.io/v1beta1
kind: AAAARecord
metadata: {name: www, namespace: dns, labels: {zone: corp}}
spec: {name: www, ipv6Addresses: ["2001:db8::80"], ttl: 60}
---
apiVersion: bindy.firestoned.io/v1beta1
kind: MXRecord
metadata: {name: mail, namespace: dns, labels: {zone: corp}}
spec: {name: "@", priority: 10, mailServer: mail.example.net.}
---
apiVersion: bindy.firestoned.io/v1beta1
kind: TXTRecord
metadata: {name: spf, namespace: dns, labels: {zone: corp}}
spec: {name: "@", text: ["v=spf1", " mx -all"]}
---
apiVersion: bindy.firestoned.io/v1beta1
kind: CAARecord
metadata: {name: ca, namespace: dns, labels: {zone: corp}}
spec: {name: "@", flags: 0, tag: issue, value: letsencrypt.org}
---
apiVersion: bindy.firestoned.io/v1beta1
kind: CNAMERecord
metadata: {name: blog, namespace: shop}
spec: {zone: corp.test, name: blog, target: www.corp.test}
---
apiVersion: bindy.firestoned.io/v1beta1
kind: NSRecord
metadata: {name: lab, namespace: dns, labels: {zone: corp}}
spec: {name: lab, nameserver: ns.example.net.}
---
apiVersion: bindy.firestoned.io/v1beta1
kind: SRVRecord
metadata: {name: sip, namespace: dns, labels: {zone: corp}}
spec: {name: _sip._tcp, priority: 1, weight: 2, port: 5060, target: sip.example.net.}
---
apiVersion: bindy.firestoned.io/v1beta1
kind: ARecord
metadata: {name: gone, namespace: dns, labels: {zone: corp}}
spec: {name: gone, ipv4: 192.0.2.99}
`

// dnsEntries: an entry has a name of bindy's objects.
const dnsEntries = `
apiVersion: dns.gardener.cloud/v1alpha1
kind: DNSEntry
metadata: {name: api, namespace: dns}
spec: {dnsName: api.corp.test, ttl: 120, targets: [192.0.2.77, "2001:db8::77"]}
---
apiVersion: dns.gardener.cloud/v1alpha1
kind: DNSEntry
metadata: {name: www, namespace: shop}
spec: {dnsName: www.corp.test, targets: [192.0.2.1]}
---
apiVersion: dns.gardener.cloud/v1alpha1
kind: DNSAnnotation
metadata: {name: note, namespace: dns}
spec: {resourceRef: {apiVersion: v1, kind: Service, name: api}, annotations: {dns.gardener.cloud/dnsnames: api.corp.test}}
`

// A user of bindy migrates by the text of the document, while a BIND serves bindy's zone for the same objects.
func TestBindy_goesAsTheDocumentSays(t *testing.T) {
	var yamls, shells []block
	for _, b := range readBlocks(t, bindyDocument) {
		switch b.info {
		case "yaml" + bindyBlock:
			yamls = append(yamls, b)
		case "sh" + bindyBlock:
			shells = append(shells, b)
		}
	}
	if len(yamls) != 2 || len(shells) != 4 {
		t.Fatalf("the document has %d blocks of YAML and %d of shell about bindy; this test knows 2 and 4", len(yamls), len(shells))
	}
	l := startLab(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	must.Succeed(t, l.kube.Aggregate(ctx, l.server.Addr, l.kube.ClusterCA.PEM))
	if _, _, err := l.kube.WaitAvailable(ctx, true); err != nil {
		t.Fatal(err)
	}
	served := must.Get(os.ReadFile("testdata/bindy_zone.db"))(t)
	bind := rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{Primaries: []rig.PrimaryZone{{Zone: "corp.test.", Text: string(served)}}}))(t)
	l.env = append(l.env, "BINDY="+bind.Addr.String())
	l.applyFile("testdata/bindy_crds.yaml")
	l.waitDefinitions()
	l.applyText(yamls[0].text)
	l.applyText(bindyObjects)
	l.mustRun(`kubectl patch cnamerecords.bindy.firestoned.io -n shop blog --subresource=status --type=merge -p ` +
		`'{"status":{"conditions":[{"type":"Ready","status":"True"}]}}'`)

	step := func(n int, wants ...string) {
		t.Helper()
		out := l.mustRun(shells[n].text)
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("%s: the output lacks %q:\n%s", shells[n].at, want, out)
			}
		}
	}
	// 1: the plan equals the result, and a second import writes nothing.
	step(0, "10 written, 0 unchanged, 1 not taken over (plan: nothing is kept)", "10 written, 0 unchanged, 1 not taken over\n", "spec.clusterRef")
	if out := l.mustRun("bash import.sh"); !strings.Contains(out, "0 written, 10 unchanged, 1 not taken over") {
		t.Errorf("the same import again: %s", out)
	}
	l.hasObjects("", yamls[1])
	// 2, 3: an object no longer served by bindy is a difference until deleted; then everything is imported again.
	if out, exit := l.runShell(shells[1].text); exit != 1 || !strings.Contains(out, "gone.corp.test.") {
		t.Errorf("exit code %d, and the output lacks gone.corp.test.:\n%s", exit, out)
	}
	l.mustRun("kubectl delete arecords.bindy.firestoned.io -n dns gone")
	step(2)
	if out, exit := l.runShell(shells[1].text); strings.Contains(out, "gone.corp.test.") {
		t.Errorf("exit code %d, and gone.corp.test. is still there:\n%s", exit, out)
	}
	if serial := readNumber(l.getObject("", "zones.kubi.zone", "dns", "corp"), "status", "serial"); serial < 2031010203 {
		t.Errorf("the zone has serial %d, behind the one that bindy's servers have", serial)
	}
	step(1)
	// DNSEntries enter the existing zone; an entry at another namespace's name is refused.
	l.applyFile("testdata/gardener_crds.yaml")
	l.waitDefinitions()
	l.applyText(dnsEntries)
	for _, counts := range []string{"2 written, 0 unchanged, 1 not taken over, 1 refused", "0 written, 2 unchanged, 1 not taken over, 1 refused"} {
		out, exit := l.runShell("kubectl get dnsentries.dns.gardener.cloud,dnsannotations.dns.gardener.cloud -A -o yaml | " +
			"kubectl kubizone import - --from-crd")
		if exit != 1 || !strings.Contains(out, counts) || !strings.Contains(out, "record shop/www") || !strings.Contains(out, "dnsannotation dns/note") {
			t.Errorf("exit code %d, want %q:\n%s", exit, counts, out)
		}
	}
	if out := l.mustRun("kubectl get zones.kubi.zone -n dns corp --subresource=entries"); !strings.Contains(out, "192.0.2.77") ||
		!strings.Contains(out, "2001:db8::77") {
		t.Errorf("the zone lacks the addresses of the DNSEntry:\n%s", out)
	}

	// 5: bindy's objects go, the imported objects stay.
	step(3, "zone.kubi.zone/corp", "record.kubi.zone/www-a")
	l.hasObjects("", yamls[1])
}
