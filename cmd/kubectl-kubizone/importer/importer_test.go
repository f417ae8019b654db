// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/importer"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/store"
)

const file = `$ORIGIN example.org.
$TTL 3600
@	IN	SOA	ns1 hostmaster 2030010100 1800 900 604800 300
@	IN	NS	ns1
@	IN	NS	ns.example.net.
ns1	IN	A	192.0.2.53
www	IN	A	192.0.2.1
www	IN	A	192.0.2.2
www	IN	A	192.0.2.300
mail	IN	CNAME	www
mail	IN	TXT	"beside an alias"
other.example.net.	IN	A	192.0.2.9
*	300	IN	TXT	"any; \"quoted\""
`

func makeSpec() v1alpha1.ZoneSpec {
	return v1alpha1.ZoneSpec{
		DomainName: "example.org.", TTL: ptr.To[int32](3600), Refresh: ptr.To[int32](1800), Retry: ptr.To[int32](900), Expire: ptr.To[int32](604800),
		NameServers: []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}},
		Delegations: []v1alpha1.DelegationRule{
			{Namespace: "platform", Records: []v1alpha1.RecordDelegation{{Pattern: "@"}, {Pattern: "*"}}},
			{Namespace: "team", Records: []v1alpha1.RecordDelegation{{Pattern: "*.apps"}}},
		},
	}
}

// A refused record is reported with its line, and all others are imported. The file's parts for the Zone object (SOA,
// NS) are reported with the command to set them. A repetition writes nothing (M2, M3).
func TestImport_bringsAFileIntoAZoneThatIsThere(t *testing.T) {
	s := startServer(t)
	s.makeZone("platform", "example-org", makeSpec())
	path := writeFile(t, "example.org.zone", file)
	first := s.runImport("", path, "--zone", "platform/example-org")
	if !errors.Is(first.failed, importer.ErrRefused) {
		t.Errorf("the import ended with %v", first.failed)
	}
	first.expectRemarks(
		path+":9: ", "192.0.2.300",
		path+":11: mail.example.org. TXT: ", "CNAME",
		path+":12: other.example.net.", "put it into the file of its own zone",
		"not taken over: "+path+":3: example.org. SOA",
		`kubectl patch zone -n platform example-org --type=merge -p '{"spec":{"minimumSerial":2030010100,"negativeResponseCache":300}}'`,
		"not taken over: "+path+":4,5: example.org. NS",
		`-p '{"spec":{"nameServers":[{"name":"ns1","addresses":["192.0.2.53"]},{"name":"ns.example.net."}]}}'`,
	)
	if first.out != "3 written, 1 unchanged, 3 not taken over, 3 refused\n" {
		t.Errorf("standard output: %s", first.out)
	}
	text := s.runExport("platform/example-org")
	must.Say(t, text, "www.example.org.\t3600\tIN\tA\t192.0.2.2\n", "mail.example.org.\t3600\tIN\tCNAME\twww.example.org.\n",
		"*.example.org.\t300\tIN\tTXT\t\"any; \\\"quoted\\\"\"\n")
	before := s.getZone("platform", "example-org")
	second := s.runImport("", path, "--zone", "example-org", "-n", "platform")
	if second.out != "0 written, 4 unchanged, 3 not taken over, 3 refused\n" {
		t.Errorf("the second time: %s", second.out)
	}
	if after := s.getZone("platform", "example-org"); after.Status.ContentGeneration != before.Status.ContentGeneration {
		t.Errorf("the second import changed the zone: serial %d, %d before", after.Status.Serial, before.Status.Serial)
	}
}

// The addresses of spec.nameServers stay in the Zone alone, so a later change of the Zone replaces them. Other
// addresses of the file are reported, with a single command for them and the NS.
func TestImport_leavesTheAddressesOfNameServersToTheZone(t *testing.T) {
	s := startServer(t)
	s.makeZone("platform", "example-org", makeSpec())
	own := s.runImport(s.runExport("platform/example-org"), "-", "--zone", "platform/example-org")
	if own.failed != nil || own.out != "0 written, 1 unchanged\n" {
		t.Errorf("the own export: %v, %s%s", own.failed, own.err, own.out)
	}
	zones := s.KubizoneV1alpha1().Zones("platform")
	must.Get(zones.Patch(t.Context(), "example-org", types.MergePatchType,
		[]byte(`{"spec":{"nameServers":[{"name":"ns1","addresses":["192.0.2.54"]}]}}`), metav1.PatchOptions{}))(t)
	text := s.runExport("platform/example-org")
	if !strings.Contains(text, "ns1.example.org.\t3600\tIN\tA\t192.0.2.54\n") || strings.Contains(text, "192.0.2.53") {
		t.Errorf("after a change of the address:\n%s", text)
	}
	file := "$TTL 3600\n@ NS ns2\nns1 A 192.0.2.53\nns1 AAAA 2001:db8::53\nns2 A 192.0.2.55\n"
	for _, want := range []string{"1 written, 1 unchanged, 3 not taken over\n", "0 written, 2 unchanged, 3 not taken over\n"} {
		other := s.runImport(file, "-", "--zone", "platform/example-org")
		const reason = "name servers and their addresses are fields of the Zone; "
		const command = `to serve them: kubectl patch zone -n platform example-org --type=merge ` +
			`-p '{"spec":{"nameServers":[{"name":"ns1","addresses":["192.0.2.54","192.0.2.53","2001:db8::53"]},{"name":"ns2.example.org."}]}}'`
		other.expectRemarks("standard input:2: example.org. NS ns2.example.org.: "+reason+command,
			"standard input:3: ns1.example.org. A 192.0.2.53: "+reason+command,
			"standard input:4: ns1.example.org. AAAA 2001:db8::53: ")
		if other.failed != nil || other.out != want {
			t.Errorf("%v, %s%s", other.failed, other.err, other.out)
		}
	}
}

// An import does not overwrite Records changed by others since the last import; a change of labels does not count. With
// --force-conflicts it does overwrite them (L4).
func TestImport_leavesWhatOthersChangedUnlessForced(t *testing.T) {
	s := startServer(t)
	s.makeZone("platform", "example-org", makeSpec())
	records := s.KubizoneV1alpha1().Records("platform")
	one := "www 3600 IN A 192.0.2.1\napi 3600 IN A 192.0.2.2\n"
	if first := s.runImport(one, "-", "--zone", "platform/example-org"); first.failed != nil {
		t.Fatal(first.failed)
	}
	must.Get(records.Patch(t.Context(), "www-a.example-org", types.MergePatchType, []byte(`{"spec":{"rdata":"198.51.100.1"}}`),
		metav1.PatchOptions{FieldManager: "kubectl-edit"}))(t)
	// A change of labels does not count.
	must.Get(records.Patch(t.Context(), "api-a.example-org", types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"api"}}}`),
		metav1.PatchOptions{FieldManager: "kubectl-label"}))(t)
	changed := "www 3600 IN A 203.0.113.1\nwww 3600 IN A 203.0.113.2\napi 3600 IN A 203.0.113.3\n"
	left := s.runImport(changed, "-", "--zone", "platform/example-org")
	left.expectRemarks(`standard input:1,2: www.example.org. A (platform/www-a.example-org): it differs from the file and was changed by ` +
		`["kubectl-edit"]`)
	if !errors.Is(left.failed, importer.ErrRefused) || left.out != "1 written, 1 unchanged, 1 left to others\n" {
		t.Errorf("%v, %s", left.failed, left.out)
	}
	if forced := s.runImport(changed, "-", "--zone", "platform/example-org", "--force-conflicts"); forced.failed != nil {
		t.Error(forced.failed)
	}
	record, err := records.Get(t.Context(), "www-a.example-org", metav1.GetOptions{})
	if err != nil || record.Spec.RData != "" || !slices.Equal(record.Spec.Values, []string{"203.0.113.1", "203.0.113.2"}) {
		t.Errorf("%+v, %v", record.Spec, err)
	}
}

// Standard input may hold a part of a zone, without SOA, origin or TTL. A Record written by hand is recognized by its
// data, and counts as unchanged.
func TestImport_takesAPartOfAZoneFromStandardInput(t *testing.T) {
	s := startServer(t)
	zone := s.makeZone("platform", "example-org", makeSpec())
	byHand := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "by-hand"}, Spec: v1alpha1.RecordSpec{DomainName: "www.apps.example.org.", Type: "CNAME", RData: "www.example.org."}}
	must.Get(s.KubizoneV1alpha1().Records("team").Create(t.Context(), byHand, metav1.CreateOptions{}))(t)
	part := "www.apps CNAME www\napi.apps A 192.0.2.7\nadmin A 192.0.2.8\n"
	got := s.runImport(part, "-", "--zone", "platform/example-org", "-n", "team")
	got.expectRemarks("refused: standard input:3: admin.example.org. A: ", `zone example.org. does not delegate A at admin.example.org. `+
		`to namespace "team"`)
	if got.out != "1 written, 2 unchanged, 1 refused\n" {
		t.Errorf("standard output: %s", got.out)
	}
	record, err := s.KubizoneV1alpha1().Records("team").Get(t.Context(), "api.apps-a.example-org", metav1.GetOptions{})
	if err != nil || record.Spec.TTL != nil || *record.Spec.ZoneRef != (v1alpha1.ZoneReference{Namespace: zone.Namespace, Name: zone.Name}) {
		t.Errorf("%+v, %v", record, err)
	}
	other := s.runImport("www.apps 60 CNAME www\n", "-", "--zone", "platform/example-org", "-n", "team")
	other.expectRemarks("left as it is: standard input:1: www.apps.example.org. CNAME: it exists with TTL 3600, the file has 60")
}

// X1, X2: a zone survives export and import, in both formats.
func TestExport_comesBackAsTheSameZone(t *testing.T) {
	s := startServer(t)
	whole := `$ORIGIN example.org.
$TTL 3600
@	IN	SOA	ns1.example.net. john\.doe.example.org. 2018031200 1800 900 604800 86400
@	IN	NS	ns1
@	600	IN	NS	ns.example.net.
ns1	IN	A	192.0.2.53
_sip._tcp	IN	SRV	10 60 5060 sip
sip	60	IN	AAAA	2001:db8::1
sip	60	IN	AAAA	2001:db8::2
@	IN	MX	10 mail.example.net.
@	IN	CAA	0 issue "ca.example.net"
long	IN	TXT	"` + strings.Repeat("x", 255) + `" "` + strings.Repeat("y", 100) + `"
a-a	IN	HTTPS	1 . alpn=h2
ex-a.ample	IN	TYPE65534	\# 3 010203
sub	IN	NS	ns.sub
ns.sub	IN	A	192.0.2.54
*.apps	IN	CNAME	sip
`
	path := writeFile(t, "example.org.zone", whole)
	if first := s.runImport("", path, "--zone", "a/example-org", "--create-zone"); first.failed != nil {
		t.Fatal(first.failed)
	}
	original := s.getZone("a", "example-org")

	asFile := writeFile(t, "exported.zone", s.runExport("a/example-org"))
	if again := s.runImport("", asFile, "--zone", "a/example-org", "--create-zone"); again.failed != nil ||
		!strings.HasPrefix(again.out, "0 written") {
		t.Errorf("into itself: %v, %s", again.failed, again.out)
	}
	if second := s.runImport("", asFile, "--zone", "b/example-org", "--create-zone", "--view", "second"); second.failed != nil {
		t.Fatal(second.failed)
	}
	asManifests := s.runExport("a/example-org", "-o", "yaml")
	for _, written := range []string{"status:", "uid:", "managedFields", "resourceVersion", "creationTimestamp", "parent-zone"} {
		if strings.Contains(asManifests, written) {
			t.Errorf("the manifests have %s", written)
		}
	}
	elsewhere := startServer(t)
	elsewhere.applyFile(writeFile(t, "all.yaml", asManifests))
	for what, zone := range map[string]*v1alpha1.Zone{"the zone file": s.getZone("b", "example-org"),
		"the manifests": elsewhere.getZone("a", "example-org")} {
		if zone.Status.Hash != original.Status.Hash || zone.Status.EntryCount != original.Status.EntryCount {
			t.Errorf("%s made hash %s with %d entries, want %s with %d", what, zone.Status.Hash, zone.Status.EntryCount, original.Status.Hash, original.Status.EntryCount)
		}
	}
	want := withoutSOA(s.runExport("a/example-org"))
	if got := withoutSOA(s.runExport("b/example-org")); !slices.Equal(got, want) {
		t.Errorf("entries\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := withoutSOA(elsewhere.runExport("example-org", "-n", "a")); !slices.Equal(got, want) {
		t.Errorf("entries\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func withoutSOA(text string) []string {
	lines := strings.Split(text, "\n")
	return slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, "\tSOA\t") || strings.HasPrefix(line, ";") })
}

// If a name in a file's SOA is no host name, the zone could not be loaded with it (S5.11). Only that field of the SOA
// is refused, and the rest of the file is imported (L2).
func TestImport_takesAFileWhoseSOANamesNoHost(t *testing.T) {
	s := startServer(t)
	path := writeFile(t, "t.test.zone", "$TTL 300\n@ SOA my_ns my.host_master 1 3600 3600 604800 300\n@ NS ns\nns A 192.0.2.1\n")
	first := s.runImport("", path, "--zone", "a/t-test", "--create-zone")
	first.expectRemarks("refused: "+path+":2: t.test. SOA my_ns.t.test. ", "spec.primaryNameServer", "spec.contact", "spec.retry")
	if first.out != "3 written, 0 unchanged, 3 refused\n" {
		t.Errorf("%v, %s", first.failed, first.out)
	}
	zone := s.getZone("a", "t-test")
	if zone.Spec.PrimaryNameServer != "" || zone.Spec.Contact != "" || *zone.Spec.Refresh != 3600 || *zone.Spec.Retry != 1800 ||
		*zone.Spec.Expire != 604800 {
		t.Errorf("%+v", zone.Spec)
	}
	if second := s.runImport("", path, "--zone", "a/t-test", "--create-zone"); !strings.HasPrefix(second.out, "0 written, 3 unchanged") {
		t.Errorf("the second time: %s", second.out)
	}
}

// Warnings are judged at the end: users ignore a Warning repeated at each import. Tenants may write names, so a
// delegation's host without a namespace would cause a Warning, too (S4.18).
func TestImport_warnsOfNothingThatTheFileHas(t *testing.T) {
	s := startServer(t)
	text := `$TTL 300
@ SOA ns1 hostmaster 1 3600 900 604800 300
alias CNAME www
child DS 1 8 2 ` + strings.Repeat("0", 64) + `
child NS ns.child
child NS ns.sibling
ns.child A 192.0.2.3
sibling NS ns.example.net.
ns.sibling A 192.0.2.4
hosted NS ns.farm
ns.farm A 192.0.2.5
@ MX 10 mail
mail A 192.0.2.25
@ NS ns1
ns1 A 192.0.2.1
www A 192.0.2.2
`
	for round := range 3 { // rule out luck with timing
		path := writeFile(t, fmt.Sprintf("t%d.test.zone", round), text)
		for what, result := range map[string]outcome{
			"plan":   s.runPlan("", path, "--zone", fmt.Sprintf("a/t%d", round), "--create-zone"),
			"import": s.runImport("", path, "--zone", fmt.Sprintf("b/t%d", round), "--view", "other", "--create-zone"),
		} {
			if strings.Contains(result.err+result.out, "warning") {
				t.Errorf("%s: %s%s", what, result.out, result.err)
			}
		}
	}
	spec := makeSpec()
	spec.DomainName, spec.NameServers = "shared.test.", nil
	spec.Delegations = append(spec.Delegations, v1alpha1.DelegationRule{Namespace: "tenant",
		Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}})
	s.makeZone("platform", "shared", spec)
	result := s.runImport("", writeFile(t, "shared.test.zone", text), "--zone", "platform/shared")
	if strings.Contains(result.err, "warning") || !strings.HasPrefix(result.out, "13 written") {
		t.Errorf("into a zone with tenants: %s%s", result.out, result.err)
	}
	occluded := s.runImport("", writeFile(t, "more.zone", "$TTL 300\nx.child TXT x\nlone DS 1 8 2 "+strings.Repeat("0", 64)+"\n"), "--zone",
		"platform/shared")
	occluded.expectRemarks("more.zone:2: S5.6: TXT at x.child.shared.test. is occluded",
		"more.zone:3: S5.14: DS at lone.shared.test. has no NS beside it")
}

// An unreadable source does not stop the import of the others, but makes the command fail. The command also fails if
// name servers would not load a zone that it wrote (M2).
func TestImport_goesOnAfterASourceThatFails(t *testing.T) {
	s := startServer(t)
	s.makeZone("platform", "example-org", makeSpec())
	other := writeFile(t, "other.zone", "$ORIGIN example.net.\n@ 60 SOA ns h 1 1800 900 604800 300\n")
	part := writeFile(t, "part.zone", "www A 192.0.2.1\n")
	got := s.runImport("", other, "no-such-file", part, "--zone", "platform/example-org")
	if wrong := s.runImport("", part, "--zone", "platform/example-org", "--view", "inside"); wrong.failed == nil ||
		!strings.Contains(wrong.failed.Error(), `in view ""`) {
		t.Errorf("another view: %v", wrong.failed)
	}
	if got.failed == nil || !strings.Contains(got.failed.Error(), "import "+other+": the file is of zone example.net.") || !strings.Contains(got.failed.Error(), "open no-such-file") {
		t.Errorf("%v", got.failed)
	}
	if got.out != "1 written, 1 unchanged, 2 of 3 sources not imported\n" {
		t.Errorf("standard output: %s", got.out)
	}
	noServer := writeFile(t, "example.net.zone", "@ 60 SOA ns h 1 1800 900 604800 300\nwww 60 A 192.0.2.1\n")
	made := s.runImport("", noServer, "--zone", "platform/example-net", "--create-zone")
	made.expectRemarks("zone example.net. (platform/example-net) is not servable: NoNameServers: ")
	if !errors.Is(made.failed, importer.ErrRefused) {
		t.Errorf("%v", made.failed)
	}
	more := s.runImport("", noServer, "--zone", "platform/example-net")
	if more.expectRemarks("is not servable"); !errors.Is(more.failed, importer.ErrRefused) ||
		more.failed.Error() != "1 zone not servable: see above" {
		t.Errorf("a part for a zone that is not servable: %v", more.failed)
	}
	// One source may supply a record that another lacks.
	servers := writeFile(t, "servers.zone", "$ORIGIN example.net.\n@ 60 NS ns.example.org.\n")
	if both := s.runImport("", noServer, servers, "--zone", "platform/example-net"); both.failed != nil {
		t.Errorf("both parts: %v, %s", both.failed, both.err)
	}
}

func fullOf(lines string) string {
	return "$ORIGIN t.test.\n$TTL 300\n@ SOA ns host 1 7200 3600 1209600 300\n@ NS ns\nns A 192.0.2.1\n" + lines
}

// --prune does exactly what the plan shows, and leaves Records alone that have fields of another manager.
func TestImport_plansAndPrunesWhatTheFileNoLongerHas(t *testing.T) {
	s := startServer(t)
	path := writeFile(t, "t.zone", fullOf("a A 192.0.2.2\nb A 192.0.2.3\nc A 192.0.2.4\nedited A 192.0.2.5\nalias A 192.0.2.6\n"))
	if first := s.runImport("", path, "--zone", "a/t", "--create-zone"); first.failed != nil {
		t.Fatal(first.failed)
	}
	records := s.KubizoneV1alpha1().Records("a")
	byHand := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "by-hand"}, Spec: v1alpha1.RecordSpec{DomainName: "hand", ZoneRef: &v1alpha1.ZoneReference{Name: "t"}, Type: "A", RData: "192.0.2.9"}}
	must.Get(records.Create(t.Context(), byHand, metav1.CreateOptions{FieldManager: "kubectl-create"}))(t)
	must.Get(records.Patch(t.Context(), "edited-a.t", types.MergePatchType, []byte(`{"spec":{"description":"mine"}}`),
		metav1.PatchOptions{FieldManager: "kubectl-edit"}))(t)
	manifest := "apiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {namespace: a, name: applied}\nspec: {domainName: applied, zoneRef: {name: t}, type: A, rdata: 192.0.2.8}\n"
	s.applyFile(writeFile(t, "record.yaml", manifest))

	changed := writeFile(t, "changed.zone", fullOf("a A 192.0.2.2\nc 60 A 192.0.2.7\nd A 192.0.2.4\nalias CNAME a\n"))
	kept := s.runImport("", changed, "--zone", "a/t", "--create-zone")
	kept.expectRemarks("zone a/t: 2 Records that an earlier run made are not in "+changed+", and stay: alias.t.test. A (a/alias-a.t), "+
		"b.t.test. A (a/b-a.t)", "--prune")
	if kept.out != "2 written, 4 unchanged, 1 refused\n" {
		t.Errorf("without --prune: %s", kept.out)
	}
	back := writeFile(t, "back.zone", fullOf("a A 192.0.2.2\nb A 192.0.2.3\nc A 192.0.2.4\nedited A 192.0.2.5\nalias A 192.0.2.6\n"))
	if undone := s.runImport("", back, "--zone", "a/t", "--create-zone", "--prune"); !strings.Contains(undone.out, ", 1 removed") {
		t.Fatal(undone.out)
	}

	before := s.getZone("a", "t")
	plan := s.runPlan("", changed, "--zone", "a/t", "--create-zone", "--prune")
	const leftToOthers = `zone a/t: edited.t.test. A (a/edited-a.t): no source has it any more, and ["kubectl-edit"] changed it since; ` +
		"delete it if it is not needed"
	want := `zone t.test. (a/t): 2 added, 1 changed, 2 removed; classes: no class
- alias.t.test. A 192.0.2.6
+ alias.t.test. CNAME a.t.test.
- b.t.test. A 192.0.2.3
~ c.t.test. A: ttl 60 instead of that of the zone, with 192.0.2.7, without 192.0.2.4
+ d.t.test. A 192.0.2.4
left as it is: ` + leftToOthers + `
3 written, 4 unchanged, 2 removed, 1 left to others (plan: nothing is kept)
`
	if plan.out != want || !errors.Is(plan.failed, importer.ErrRefused) {
		t.Errorf("plan: %v\n%swant\n%s", plan.failed, plan.out, want)
	}
	if after := s.getZone("a", "t"); after.Status.ContentGeneration != before.Status.ContentGeneration {
		t.Error("the plan changed the zone")
	}
	pruned := s.runImport("", changed, "--zone", "a/t", "--create-zone", "--prune")
	if pruned.out != "3 written, 4 unchanged, 2 removed, 1 left to others\n" {
		t.Errorf("prune: %s", pruned.out)
	}
	text := s.runExport("a/t")
	must.Say(t, text, "edited.t.test.", "hand.t.test.", "applied.t.test.", "d.t.test.", "alias.t.test.\t300\tIN\tCNAME\ta.t.test.")
	if strings.Contains(text, "b.t.test.") {
		t.Error("b is still there")
	}
	// No serial has only half of the change at alias.
	var changes v1alpha1.ZoneChanges
	must.Succeed(t, s.KubizoneV1alpha1().RESTClient().Get().Namespace("a").Resource("zones").Name("t").SubResource("changes").
		Param("since", fmt.Sprint(before.Status.Serial)).Do(t.Context()).Into(&changes))
	atAlias := func(e v1alpha1.Entry) bool { return e.FQDN == "alias.t.test." }
	for _, c := range changes.Changes {
		if slices.ContainsFunc(c.Removed, atAlias) != slices.ContainsFunc(c.Added, atAlias) {
			t.Errorf("serial %d has the half of a change at alias: %+v", c.To, c)
		}
	}
	if len(changes.Changes) == 0 {
		t.Error("the zone has no change")
	}
}

// An import with --prune may remove most of a zone, and the server then holds back the zone as a mass deletion (S7.5).
// The report says so and prints the command for letting the deletion through.
func TestImport_printsTheHoldOfAMassDeletion_S7_9(t *testing.T) {
	clock := store.Clock{}
	apiserver.Faults.Now = clock.Now
	t.Cleanup(func() { apiserver.Faults.Now = nil })
	s := startServer(t)
	var text strings.Builder
	text.WriteString("$ORIGIN t.test.\n@ 300 IN SOA ns.example.net. hostmaster 1 1800 900 604800 300\n@ 300 NS ns.example.net.\n")
	head := text.String()
	for i := range 30 {
		fmt.Fprintf(&text, "r%d 300 A 192.0.2.1\n", i)
	}
	many, few := writeFile(t, "t.test.zone", text.String()), writeFile(t, "few.zone", head+"r0 300 A 192.0.2.1\n")
	arguments := []string{"--zone", "a/t", "--origin", "t.test.", "--create-zone", "--prune", "--yes"}
	s.runImport("", append(arguments, many)...)
	clock.PassPeriods()
	got := s.runImport("", append(arguments, few)...)
	zone := s.getZone("a", "t")
	got.expectRemarks("zone a/t is held", fmt.Sprintf("kubectl annotate zone t -n a --overwrite kubi.zone/publish-deletions=%d",
		zone.Status.SettledSerial))
	if !errors.Is(got.failed, importer.ErrRefused) || !strings.Contains(got.out, "29 removed, 1 zone held") || zone.Status.SettledSerial == zone.Status.Serial {
		t.Errorf("%v, %s; serial %d of which %d is settled", got.failed, got.out, zone.Status.Serial, zone.Status.SettledSerial)
	}
	if got.failed.Error() != "1 zone held: see above" {
		t.Errorf("the last line: %v", got.failed)
	}
	// A repetition removes nothing: the zone is still held.
	if again := s.runImport("", append(arguments, few)...); again.failed == nil || again.out != "0 written, 3 unchanged, 1 zone held\n" {
		t.Errorf("again: %v, %s", again.failed, again.out)
	}
	// A restored file ends the hold.
	if back := s.runImport("", append(arguments, many)...); back.failed != nil {
		t.Error(back.failed)
	}
	if zone = s.getZone("a", "t"); zone.Status.SettledSerial != zone.Status.Serial {
		t.Errorf("put back, serial %d is settled and %d is there", zone.Status.SettledSerial, zone.Status.Serial)
	}
}

// The import of a zone without spec.nameServers writes the zone's NS records as a Record. The same file restores this
// Record after a deletion, also without --create-zone. If another user has edited the Record, it stays.
func TestImport_putsBackTheNameServersThatItWrote(t *testing.T) {
	s := startServer(t)
	path := writeFile(t, "t.zone", fullOf("a A 192.0.2.2\n"))
	if first := s.runImport("", path, "--zone", "a/t", "--create-zone"); first.failed != nil {
		t.Fatal(first.failed)
	}
	records := s.KubizoneV1alpha1().Records("a")
	must.Succeed(t, records.Delete(t.Context(), "apex-ns.t", metav1.DeleteOptions{}))
	if back := s.runImport("", path, "--zone", "a/t"); back.failed != nil || back.out != "1 written, 3 unchanged\n" {
		t.Errorf("%v, %s%s", back.failed, back.err, back.out)
	}
	other := writeFile(t, "other.zone", strings.Replace(fullOf("a A 192.0.2.2\n"), "NS ns\n", "NS ns.example.net.\n", 1))
	if changed := s.runImport("", other, "--zone", "a/t"); changed.failed != nil || changed.out != "1 written, 3 unchanged\n" {
		t.Errorf("%v, %s%s", changed.failed, changed.err, changed.out)
	}
	// Like any edited Record.
	must.Get(records.Patch(t.Context(), "apex-ns.t", types.MergePatchType, []byte(`{"spec":{"description":"mine"}}`),
		metav1.PatchOptions{FieldManager: "kubectl-edit"}))(t)
	kept := s.runImport("", path, "--zone", "a/t")
	kept.expectRemarks("left as it is: " + path + ":4: t.test. NS (a/apex-ns.t): ")
	if kept.out != "0 written, 3 unchanged, 1 left to others\n" {
		t.Errorf("%v, %s%s", kept.failed, kept.err, kept.out)
	}
}

// With --prune an import removes Records absent from its sources. If a source may be incomplete (a wrong line, an empty
// or a missing file), nothing is removed.
func TestImport_prunesNothingOnTheWordOfHalfAFile(t *testing.T) {
	s := startServer(t)
	whole := writeFile(t, "t.zone", fullOf("a A 192.0.2.2\nb A 192.0.2.3\n"))
	if first := s.runImport("", whole, "--zone", "a/t", "--create-zone"); first.failed != nil {
		t.Fatal(first.failed)
	}
	before := s.getZone("a", "t")
	one, other := writeFile(t, "one.zone", fullOf("a A 192.0.2.2\n")), writeFile(t, "other.zone", "$ORIGIN t.test.\nb 300 A 192.0.2.3\n")
	for want, arguments := range map[string][]string{
		"1 lines of ":          {writeFile(t, "typo.zone", fullOf("a A 192.0.2.2\nb A 192.0.2.300\n"))},
		"has no record":        {writeFile(t, "empty.zone", "")},
		"no-such-file was not": {one, "no-such-file"},
	} {
		got := s.runImport("", append(arguments, "--zone", "a/t", "--create-zone", "--prune")...)
		got.expectRemarks("zone a/t: nothing is removed: ", want)
		if got.failed == nil || strings.Contains(got.out, "removed") {
			t.Errorf("%s: %v, %s", want, got.failed, got.out)
		}
	}
	// All files of a run count together.
	if both := s.runImport("", one, other, "--zone", "a/t", "--create-zone", "--prune"); both.failed != nil ||
		strings.Contains(both.out, "removed") {
		t.Errorf("%v, %s", both.failed, both.out)
	}
	if after := s.getZone("a", "t"); after.Status.ContentGeneration != before.Status.ContentGeneration {
		t.Error("the zone changed")
	}
}

// Resolvers cannot reach a name server inside the zone that has no address (S6.15). The plan of such a Zone warns of
// it. An import warns only at its end, because a later Record of the same import may supply the address.
func TestImport_saysWhichNameServerHasNoAddress_S6_15(t *testing.T) {
	s := startServer(t)
	zone := `apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {namespace: a, name: t}
spec:
  domainName: t.test.
  nameServers: [{name: ns1.t.test.}]
  delegations: [{namespace: a, records: [{pattern: "*"}]}]
`
	const address = "---\napiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {namespace: a, name: ns1}\nspec: {domainName: ns1, zoneRef: {name: t}, type: A, rdata: 192.0.2.53}\n"
	const warned = "name servers without A or AAAA in the zone, or in a delegated child zone: ns1; "
	const message = "zone t.test. (a/t) is not servable: NameServerWithoutAddress: "
	if plan := s.runPlan(zone, "-", "--from-crd"); !errors.Is(plan.failed, importer.ErrChanges) || !strings.Contains(plan.out, warned) {
		t.Errorf("plan: %v, %s", plan.failed, plan.out)
	}
	if alone := s.runImport(zone, "-", "--from-crd"); alone.failed != nil || !strings.Contains(alone.err, message) ||
		strings.Contains(alone.err, warned) {
		t.Errorf("alone: %v, %s", alone.failed, alone.err)
	}
	if both := s.runImport(zone+address, "-", "--from-crd"); both.failed != nil || strings.Contains(both.err, "name servers without") {
		t.Errorf("with the address: %v, %s", both.failed, both.err)
	}
}

// An import also reads the DNSEndpoint objects of external-dns. The endpoints of a namespace for the same name become
// one RRset, and the name of another tenant is refused.
func TestImport_takesDNSEndpoints(t *testing.T) {
	s := startServer(t)
	text := `apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {namespace: dns, name: t}
spec:
  domainName: t.test.
  nameServers: [{name: ns1, addresses: [192.0.2.53]}]
  delegations: [{namespace: a, records: [{pattern: "*"}]}, {namespace: b, records: [{pattern: "*"}]}]
`
	for _, at := range [][2]string{{"a", "one"}, {"a", "two"}, {"b", "one"}} {
		text += "---\napiVersion: externaldns.k8s.io/v1alpha1\nkind: DNSEndpoint\nmetadata: {namespace: " + at[0] + ", name: " + at[1] +
			"}\nspec:\n  endpoints:\n  - {dnsName: www.t.test, recordType: A, targets: [192.0.2.1]}\n" +
			"  - {dnsName: " + at[0] + at[1] + ".t.test, recordType: TXT, targets: [v=spf1 -all]}\n"
	}
	zone, endpoints, _ := strings.Cut(text, "---\n")
	if done := s.runImport(zone, "-", "--from-crd"); done.failed != nil {
		t.Fatal(done.err)
	}
	for _, counts := range []string{"5 written, 0 unchanged, 1 refused", "0 written, 5 unchanged, 1 refused"} {
		done := s.runImport(endpoints, "-", "--from-crd")
		if done.failed == nil || !strings.Contains(done.out+done.err, counts) || !strings.Contains(done.err, "record b/www.t.test-a.one") {
			t.Errorf("want %q: %v\n%s%s", counts, done.failed, done.out, done.err)
		}
	}
}

type canceling struct{ cancel func() }

func (c canceling) Write(p []byte) (int, error) {
	c.cancel()
	return len(p), nil
}

// If nothing comes from an idle terminal, the command says after two seconds that it waits. A signal ends the wait.
func TestImport_endsAtAnIdleTerminal(t *testing.T) {
	kubeconfig := must.WriteKubeconfig(t, "http://127.0.0.1:1")
	terminal, closeIt := io.Pipe()
	defer closeIt.Close()
	ctx, cancel := context.WithCancel(t.Context())
	command := importer.NewCommand()
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs([]string{"-", "--zone", "platform/example-org", "--kubeconfig", kubeconfig})
	command.SetIn(terminal)
	command.SetErr(canceling{cancel})
	if err := command.ExecuteContext(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestImport_refusesWhatGoesNotTogether(t *testing.T) {
	s := startServer(t)
	for want, arguments := range map[string][]string{
		"--zone: name the Zone":              {"a.zone"},
		"--zone \"Example_Org\"":             {"a.zone", "--zone", "Example_Org"},
		"is a manifest: kubectl apply -f":    {"a.yaml", "--zone", "x"},
		"custom resources name their own":    {"a.yaml", "--prune", "--from-crd"},
		"--from-crd goes with manifests":     {"a.zone", "--zone", "x", "--from-crd"},
		"axfr://SERVER[:PORT]/ZONE":          {"axfr://192.0.2.1", "--zone", "x"},
		"--tsig-key-file":                    {"axfr://192.0.2.1/example.org", "--zone", "x", "--tsig-key-file", "/nonexistent"},
		"--view \"In Side\"":                 {"a.zone", "--zone", "x", "--view", "In Side"},
		"open a.zone: no such file":          {"a.zone", "--zone", "x"},
		"--zone \"no space/x\": namespace":   {"a.zone", "--zone", "no space/x"},
		"http://x\": write axfr://SERVER[:P": {"http://x", "--zone", "x"},
	} {
		if got := s.runImport("", arguments...); got.failed == nil || !strings.Contains(got.failed.Error(), want) {
			t.Errorf("%q: %v, want %q", arguments, got.failed, want)
		}
	}
	missing := s.runCommand(importer.NewCommand(), "", "a.zone", "--zone", "x", "--context", "nowhere")
	if missing.failed == nil || !strings.Contains(missing.failed.Error(), "nowhere") {
		t.Errorf("a context that is not there: %v", missing.failed)
	}
	if _, err := s.KubizoneV1alpha1().Zones("default").Get(t.Context(), "x", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("zone x: %v", err)
	}
}

// A zone is imported from BIND by a transfer that a TSIG key signs. An import of the zone's file afterwards finds
// nothing new (M3).
func TestImport_takesATransfer(t *testing.T) {
	text := "t.test. 300 IN SOA ns.example.net. h. 1 1800 900 604800 300\nt.test. 300 IN NS ns.example.net.\na.t.test. 300 IN A 192.0.2.1\n"
	key := rig.TSIGKey{Name: "transfer", Algorithm: "hmac-sha512", Secret: "cm9vdC16b25lLWZvci10aGUtaW1wb3J0LXRlc3QtMDE="}
	bind := rig.NeedServer(rig.StartBIND(t.Context(), rig.BINDConfig{Keys: []rig.TSIGKey{key},
		Primaries: []rig.PrimaryZone{{Zone: "t.test.", Text: text, UpdateKey: key.Name}}}))(t)
	s := startServer(t)
	arguments := []string{"--zone", "a/t", "--create-zone", "--view", "inside"}
	url := "axfr://" + bind.Addr.String() + "/t.test"
	if refused := s.runImport("", append(arguments, url)...); refused.failed == nil ||
		!strings.Contains(refused.failed.Error(), "REFUSED") {
		t.Errorf("a transfer without the key: %v", refused.failed)
	}
	first := s.runImport("", append(arguments, url, "--tsig-key-file", writeFile(t, "transfer.key", key.Statement()))...)
	if first.failed != nil || first.out != "3 written, 0 unchanged\n" {
		t.Errorf("%v, %s", first.failed, first.out)
	}
	if second := s.runImport("", append(arguments, writeFile(t, "t.zone", text))...); second.failed != nil ||
		second.out != "0 written, 3 unchanged\n" {
		t.Errorf("%v, %s", second.failed, second.out)
	}
}
