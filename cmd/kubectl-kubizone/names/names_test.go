// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/pkg/client/find"
	"kubi.zone/kubizone/test/must"
)

func makeClient(answer *v1alpha1.NameReviewStatus, objects ...runtime.Object) *fake.Clientset {
	client := fake.NewClientset(objects...)
	client.PrependReactor("create", "namereviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*v1alpha1.NameReview).DeepCopy()
		review.Status = *answer
		return true, review, nil
	})
	client.PrependReactor("list", "records", func(action clienttesting.Action) (bool, runtime.Object, error) {
		list, out := action.(clienttesting.ListAction), &v1alpha1.RecordList{}
		for _, o := range objects {
			r, ok := o.(*v1alpha1.Record)
			if ok && (list.GetNamespace() == "" || list.GetNamespace() == r.Namespace) && list.GetListRestrictions().Fields.Matches(
				fields.Set{v1alpha1.FieldRecordFQDN: r.Status.FQDN, v1alpha1.FieldRecordType: strings.ToUpper(r.Spec.Type)}) {
				out.Items = append(out.Items, *r)
			}
		}
		return true, out, nil
	})
	client.PrependReactor("list", "delegations", func(action clienttesting.Action) (bool, runtime.Object, error) {
		selector, out := action.(clienttesting.ListAction).GetListRestrictions().Fields, &v1alpha1.DelegationList{}
		for _, o := range objects {
			d, ok := o.(*v1alpha1.Delegation)
			if ok && selector.Matches(fields.Set{v1alpha1.FieldDelegationZoneRefName: d.Spec.ZoneRef.Name}) {
				out.Items = append(out.Items, *d)
			}
		}
		return !selector.Empty(), out, nil
	})
	client.PrependReactor("list", "zones", func(action clienttesting.Action) (bool, runtime.Object, error) {
		selector, out := action.(clienttesting.ListAction).GetListRestrictions().Fields, &v1alpha1.ZoneList{}
		for _, o := range objects {
			if z, ok := o.(*v1alpha1.Zone); ok && selector.Matches(fields.Set{v1alpha1.FieldZoneFQDN: z.Status.FQDN}) {
				out.Items = append(out.Items, *z)
			}
		}
		return !selector.Empty(), out, nil
	})
	return client
}

// An empty namespace means requests in all namespaces.
func refuseReview(client *fake.Clientset, verb, resource, namespace string) {
	client.PrependReactor(verb, resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetNamespace() != namespace {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(v1alpha1.Resource(resource), "", errors.New("no right"))
	})
}

func printAnswer(t *testing.T, found *answer, err error) (string, error) {
	t.Helper()
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = found.printTo(&out, &output.Format{})
	return out.String(), err
}

// `may` asks whether a namespace may create a name, and prints the whole answer. If the answer is no, the command ends
// with an error, so that scripts notice it (S14.1).
func TestMay_printsTheAnswer_S14_1(t *testing.T) {
	for _, test := range []struct {
		answer v1alpha1.NameReviewStatus
		want   string
		err    error
	}{
		{v1alpha1.NameReviewStatus{Zone: "example.org.", Allowed: true, Rule: "*.apps", Claimed: v1alpha1.NameClaimMine,
			Contact: "dns@example.org", Warnings: []string{"S4.18: values meet"}},
			"yes: zone example.org. gives www.apps.example.org to namespace team by the rule \"*.apps\"\nclaimed: Mine\n" +
				"contact: dns@example.org\nwarning: S4.18: values meet\n", nil},
		{v1alpha1.NameReviewStatus{Reason: "no zone (S14.2)"}, "no: no zone (S14.2)\n", ErrNo},
		{v1alpha1.NameReviewStatus{Zone: "example.org.", Reason: "held; contact of the zone: dns@example.org", Contact: "dns@example.org",
			Claimed: v1alpha1.NameClaimAnother}, "no: held; contact of the zone: dns@example.org\nclaimed: Another\n", ErrNo},
	} {
		api := makeClient(&test.answer).KubizoneV1alpha1()
		by := &find.Search{API: api, Namespace: "team"}
		found, err := newQuestion().askMay(t.Context(), by, []string{"create", "www.apps.example.org", "A"})
		out, err := printAnswer(t, found, err)
		if out != test.want || !errors.Is(err, test.err) || (err == nil) != (test.err == nil) {
			t.Errorf("%q, %v, want %q, %v", out, err, test.want, test.err)
		}
	}
}

// S14.3: rules, then the namespace's classes, or the right that is missing to list them.
func TestNames_listsRulesAndClasses_S14_3(t *testing.T) {
	patterns := []v1alpha1.RecordDelegation{{Pattern: "*.apps"}, {Pattern: "acme", Types: []string{"TXT", "A"}}}
	answer := &v1alpha1.NameReviewStatus{Remaining: 3, Rules: []v1alpha1.NameReviewRule{
		{Zone: "example.org.", Contact: "dns@example.org", Records: patterns, Zones: []string{"dev"}},
		{Zone: "example.org.", Elsewhere: true, Records: patterns[1:], Zones: []string{"*.dev"}}}}
	makeClass := func(name string, of *v1alpha1.NamespaceSelection) *v1alpha1.DNSClass {
		return &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.DNSClassSpec{Namespaces: of}}
	}
	fallback := makeClass("fallback", nil)
	fallback.Annotations = map[string]string{v1alpha1.AnnotationDefaultClass: "true"}
	objects := []runtime.Object{fallback, makeClass("mine", &v1alpha1.NamespaceSelection{Names: []string{"team"}}),
		makeClass("theirs", &v1alpha1.NamespaceSelection{Names: []string{"other"}}), makeClass("none", nil),
		makeClass("labels", &v1alpha1.NamespaceSelection{Selector: metav1.SetAsLabelSelector(map[string]string{"a": "b"})})}
	s := &find.Search{API: makeClient(answer, objects...).KubizoneV1alpha1(), Namespace: "team"}
	list := func() string {
		found, err := newQuestion().listNames(t.Context(), s, nil)
		return must.Get(printAnswer(t, found, err))(t)
	}
	out := list()
	rows := strings.Fields(strings.Join(strings.Split(out, "\n")[:7], " | "))
	want := "ZONE VIEW FOR PATTERN TYPES CONTACT | example.org. records *.apps usual (S4.5) dns@example.org | " +
		"example.org. records acme TXT,A dns@example.org | example.org. zones dev dns@example.org | " +
		"example.org. records acme none: zones below have them (S2.1) | " +
		"example.org. zones *.dev none: zones below have them (S2.1) | and 3 more rules"
	if got := strings.Join(rows, " "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	must.Say(t, out, "\nfallback  true\n", "\nmine ", "\nlabels ")
	if strings.Contains(out, "theirs") || strings.Contains(out, "\nnone ") {
		t.Errorf("a class for others is listed:\n%s", out)
	}
	client := makeClient(&v1alpha1.NameReviewStatus{})
	s.API = client.KubizoneV1alpha1()
	if out := list(); !strings.Contains(out, "No class is for zones of namespace team.") {
		t.Error(out)
	}
	refuseReview(client, "list", "dnsclasses", "")
	if out := list(); !strings.Contains(out, "No rule of a zone gives namespace team a name.") ||
		!strings.Contains(out, "ClusterRoleBinding to kubizone-class-viewer") {
		t.Error(out)
	}
}

func makeRecord(namespace, fqdn, rrtype string, values ...string) *v1alpha1.Record {
	return &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "r-" + strings.Trim(fqdn, "*.")},
		Spec:   v1alpha1.RecordSpec{Type: rrtype, Values: values},
		Status: v1alpha1.RecordStatus{FQDN: fqdn, ZoneRef: &v1alpha1.AdoptingZone{Namespace: "dns", Name: "zone", UID: "u"}}}
}

// `who` finds Records by name, else at the nearest name above, and by address or prefix. A user who may not list
// Records in all namespaces gets those of one namespace.
func TestWho_findsRecords(t *testing.T) {
	objects := []runtime.Object{makeRecord("a", "www.example.org.", "A", "192.0.2.1", "192.0.2.2"),
		makeRecord("b", "*.apps.example.org.", "AAAA", "2001:db8::1"), makeRecord("c", "example.org.", "MX", "10 mail")}
	for asked, want := range map[string]string{
		"www.example.org":        "a r-www.example.org www.example.org. A 192.0.2.1, 192.0.2.2 dns/zone",
		"WWW.Example.org.":       "a r-www.example.org www.example.org. A",
		"x.y.apps.example.org":   "are at *.apps.example.org. (S4.8): NAMESPACE RECORD NAME TYPE DATA ZONE b ",
		"absent.example.org.":    "are at example.org. (S4.8): NAMESPACE RECORD NAME TYPE DATA ZONE c ",
		"192.0.2.2":              " a r-www.example.org",
		"2001:0db8:0::0001":      " b r-apps.example.org",
		"192.0.2.0/30":           " a r-www.example.org",
		"2001:db8::/32":          " b r-apps.example.org",
		"198.51.100.0/24":        "No Record of 198.51.100.0/24 in all namespaces.",
		"192.0.2.9":              "No Record of 192.0.2.9 in all namespaces.",
		"www.example.net":        "No Record of www.example.net in all namespaces.",
		"b www.example.org":      "No Record of www.example.org in namespace b",
		"b x.y.apps.example.org": "are at *.apps.example.org.",
	} {
		client, s := makeClient(nil, objects...), &find.Search{Namespace: "b", Everywhere: true}
		refuseReview(client, "list", "zones", "") // entries are not served here
		if in, rest, found := strings.Cut(asked, " "); found {
			refuseReview(client, "list", "records", "")
			asked, s.Namespace = rest, in
		}
		s.API = client.KubizoneV1alpha1()
		found, err := findRecords(t.Context(), s, asked)
		out, err := printAnswer(t, found, err)
		got := strings.Join(strings.Fields(out), " ")
		if !strings.Contains(got, want) || errors.Is(err, ErrNo) != strings.HasPrefix(want, "No Record of") {
			t.Errorf("%s: %s, %v, want %s", asked, got, err, want)
		}
	}
	s := &find.Search{API: makeClient(nil).KubizoneV1alpha1()}
	for _, none := range []string{"a..b", "192.0.2.80-90", "192.0.2.*", "10.0"} {
		if _, err := findRecords(t.Context(), s, none); err == nil || errors.Is(err, ErrNo) {
			t.Errorf("%s: %v", none, err)
		}
	}
}

// `who NAME` always tells the zone of the name, even if no Record is there. If Records exist only above the name, it
// shows the nearest ones, but none above the zone, because these do not concern the name.
func TestWho_findsTheZone(t *testing.T) {
	makeZone := func(namespace, fqdn string) *v1alpha1.Zone {
		return &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "z"}, Status: v1alpha1.ZoneStatus{FQDN: fqdn}}
	}
	root, hint := makeZone("top", "."), makeRecord("top", "org.", "NS", "a.gtld-servers.net.")
	root.Status.View, hint.Status.View = "root", "root"
	challenge, waiting := makeRecord("team", "_dmarc.example.org.", "TXT", "x"), makeRecord("team", "wait.example.org.", "A", "192.0.2.3")
	challenge.Status.Admission, waiting.Status.ZoneRef = "Underscore", nil
	objects := []runtime.Object{makeZone("dns", "example.org."), makeZone("team", "dev.example.org."), root, hint, challenge, waiting,
		makeRecord("dns", "example.org.", "MX", "10 mail"), makeRecord("team", "www.dev.example.org.", "A", "192.0.2.1"),
		makeRecord("team", "*.dev.example.org.", "A", "192.0.2.2")}
	const silent = ": no namespace may write there by its rules; contact: (none; ask namespace "
	const dev = "Zone dev.example.org. (view default) of team/z" + silent + "team) Zone . (view root) of top/z" + silent + "top) "
	const org = "Zone example.org. (view default) of dns/z" + silent + "dns) Zone . (view root) of top/z" + silent + "top) "
	const top = "Zone . (view root) of top/z" + silent + "top) "
	for asked, want := range map[string]string{
		"dev.example.org":          dev + "No Record of dev.example.org in all namespaces; its zone is dev.example.org.",
		"www.dev.example.org":      dev + "NAMESPACE RECORD NAME TYPE DATA ZONE team ",
		"x.dev.example.org":        dev + "No Record at x.dev.example.org; the nearest above are at *.dev.example.org. (S4.8): ",
		"x.www.dev.example.org":    dev + "No Record at x.www.dev.example.org; the nearest above are at www.dev.example.org. (S4.8): ",
		"a.b.example.org":          org + "No Record of a.b.example.org in all namespaces; its zone is example.org.",
		"below._dmarc.example.org": org + "No Record of below._dmarc.example.org in",
		"x.wait.example.org":       org + "No Record of x.wait.example.org in",
		"www.example.com":          top + "No Record of www.example.com in all namespaces; its zone is .",
		"x.y.org":                  top + "No Record at x.y.org; the nearest above are at org. (S4.8): ",
	} {
		s := &find.Search{API: makeClient(nil, objects...).KubizoneV1alpha1(), Everywhere: true}
		found, err := findRecords(t.Context(), s, asked)
		out, err := printAnswer(t, found, err)
		got := strings.Join(strings.Fields(out), " ")
		if !strings.HasPrefix(got, want) || errors.Is(err, ErrNo) != strings.Contains(want, "No Record of") {
			t.Errorf("%s: %s, %v, want %s", asked, got, err, want)
		}
	}
	client := makeClient(nil, objects...)
	refuseReview(client, "list", "zones", "")
	refuseReview(client, "list", "zones", "team")
	s := &find.Search{API: client.KubizoneV1alpha1(), Namespace: "team", Everywhere: true}
	found, err := findRecords(t.Context(), s, "www.dev.example.org")
	if out, err := printAnswer(t, found, err); err != nil || strings.Contains(out, "Zone dev") || !s.Everywhere {
		t.Errorf("without the right to list zones: %s, %v", out, err)
	}
}

// The zone of a name, in each view, with the namespaces whose rules match the name, at its own name all.
func TestWho_namesTheWriters(t *testing.T) {
	makeZone := func(name, fqdn, view string, rules ...v1alpha1.DelegationRule) *v1alpha1.Zone {
		return &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: name}, Spec: v1alpha1.ZoneSpec{Delegations: rules,
			Contact: "dns@example.org"}, Status: v1alpha1.ZoneStatus{FQDN: fqdn, View: view}}
	}
	makeRule := func(namespace, pattern string) v1alpha1.DelegationRule {
		return v1alpha1.DelegationRule{Namespace: namespace, Records: []v1alpha1.RecordDelegation{{Pattern: pattern}}}
	}
	several := makeRule("d", "*.apps")
	several.Namespaces = []string{"e", "f", "g", "h", "i"}
	objects := []runtime.Object{makeRecord("a", "www.example.org.", "A", "192.0.2.1"),
		makeZone("zone", "example.org.", "", makeRule("a", "www"), several), makeZone("inner", "example.org.", "in", makeRule("", "*")),
		makeZone("reverse", "2.0.192.in-addr.arpa.", "", makeRule("a", "7")),
		makeZone("six", "8.b.d.0.1.0.0.2.ip6.arpa.", ""),
		&v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "rule"}, Spec: v1alpha1.DelegationSpec{
			ZoneRef: v1alpha1.DelegatedZone{Name: "zone"}, Namespaces: []string{"b"},
			Records: []v1alpha1.RecordDelegation{{Pattern: "w*"}}}}}
	describe := func(zone, view, of, writers string) string {
		return "Zone " + zone + " (view " + view + ") of " + of + ": " + writers + " may write there by its rules; contact: dns@example.org"
	}
	inner := describe("example.org.", "in", "dns/inner", "every namespace")
	for asked, want := range map[string]string{
		"www.example.org":    describe("example.org.", "default", "dns/zone", "a, b") + " " + inner,
		"x.apps.example.org": describe("example.org.", "default", "dns/zone", "d, e, f, g, h and 1 more namespace") + " " + inner,
		"EXAMPLE.org.":       describe("example.org.", "default", "dns/zone", "a, b, d, e, f and 3 more namespaces") + " " + inner,
		"192.0.2.7": "No Record of 192.0.2.7 in all namespaces. PTR Records of 192.0.2.7 belong at 7.2.0.192.in-addr.arpa.: " +
			describe("2.0.192.in-addr.arpa.", "default", "dns/reverse", "a"),
		"192.0.2.0/31": "PTR Records of 192.0.2.0/31 belong at 2.0.192.in-addr.arpa.: " +
			describe("2.0.192.in-addr.arpa.", "default", "dns/reverse", "a"),
		"192.0.0.0/22":    " A 192.0.2.1 dns/zone",
		"2001:db8::1":     describe("8.b.d.0.1.0.0.2.ip6.arpa.", "default", "dns/six", "no namespace"),
		"www.example.net": "No Record of www.example.net in all namespaces.",
		"hidden 2001:db8::/33": describe("8.b.d.0.1.0.0.2.ip6.arpa.", "default", "dns/six", "no namespace") +
			" Its Delegations are not shown: that needs the right to list delegations in namespace dns.",
	} {
		client, s := makeClient(nil, objects...), &find.Search{Namespace: "b", Everywhere: true}
		client.PrependReactor("list", "zones", func(action clienttesting.Action) (bool, runtime.Object, error) {
			restrictions := action.(clienttesting.ListAction).GetListRestrictions() // entries are not served here
			return restrictions.Fields.Empty(), nil, apierrors.NewForbidden(v1alpha1.Resource("zones"), "", errors.New("no right"))
		})
		asked, hidden := strings.CutPrefix(asked, "hidden ")
		if hidden {
			refuseReview(client, "list", "delegations", "dns")
		}
		s.API = client.KubizoneV1alpha1()
		found, err := findRecords(t.Context(), s, asked)
		out, err := printAnswer(t, found, err)
		isAddress := strings.ContainsAny(asked, ":/7")
		got := strings.Join(strings.Fields(out), " ")
		if isAddress && !strings.HasSuffix(got, want) || !strings.HasPrefix(got, want) && !isAddress {
			t.Errorf("%s: %q, want %q", asked, got, want)
		}
		if errors.Is(err, ErrNo) != strings.Contains(out, "No Record of") {
			t.Errorf("%s: %v\n%s", asked, err, out)
		}
	}
}

// N1: each zone is below its parent, with Records. A caller with a single namespace sees foreign zones only through
// own objects.
func TestTree_showsWhatTheCallerMaySee_N1(t *testing.T) {
	makeZone := func(namespace, zone, fqdn, view string, parent *v1alpha1.ZoneParent) *v1alpha1.Zone {
		return &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: zone}, Spec: v1alpha1.ZoneSpec{DomainName: "dev"},
			Status: v1alpha1.ZoneStatus{FQDN: fqdn, View: view, ParentRef: parent,
				Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "R", Message: "m"}}}}
	}
	of := &v1alpha1.ZoneParent{Namespace: "dns", Name: "zone"}
	loose := makeRecord("a", "x.example.net.", "A", "192.0.2.1")
	loose.Status.ZoneRef = nil
	objects := []runtime.Object{makeZone("dns", "zone", "example.org.", "", nil), makeZone("a", "dev", "dev.example.org.", "", of),
		makeZone("a", "below", "x.dev.example.org.", "", &v1alpha1.ZoneParent{Namespace: "a", Name: "dev"}),
		makeZone("a", "umlaut", "xn--dv-hja.example.org.", "", of), makeZone("dns", "root", ".", "", nil),
		makeZone("dns", "inner", "example.org.", "in", nil),
		&v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "pending"},
			Spec: v1alpha1.ZoneSpec{DomainName: "pending"}},
		&v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "rule"}, Spec: v1alpha1.DelegationSpec{
			ZoneRef: v1alpha1.DelegatedZone{Name: "zone"}, Namespaces: []string{"a", "b"}},
			Status: v1alpha1.DelegationStatus{Records: 4}}, loose}
	for namespace, records := range map[string]int{"a": 2, "b": 4, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1} {
		for i := range records {
			objects = append(objects, makeRecord(namespace, fmt.Sprintf("n%d.%s.example.org.", i, namespace), "A", "192.0.2.1"))
		}
	}
	counts := "b 4, a 2, c 1, d 1, e 1, and 2 more namespaces"
	for _, test := range []struct{ in, zone, want string }{
		{"", "", `
ZONE OBJECT RECORDS READY
. dns/root 0 True
example.org. dns/zone ` + counts + ` True
  Delegation to a,b dns/rule 4 Unknown
  dev.example.org. a/dev 0 True
    x.dev.example.org. a/below 0 True
  xn--dv-hja.example.org. a/umlaut 0 True
example.org. (view in) dns/inner 0 True
pending b/pending 0 Unknown
(no zone yet) a 1
`},
		{"", "DEV.example.org", "\nZONE OBJECT RECORDS READY\ndev.example.org. a/dev 0 True\n  x.dev.example.org. a/below 0 True\n"},
		{"", "Dëv.example.org", "\nZONE OBJECT RECORDS READY\nxn--dv-hja.example.org. a/umlaut 0 True\n"},
		{"", ".", "\nZONE OBJECT RECORDS READY\n. dns/root 0 True\n"},
		{"", "example.net.", "\nNo zone example.net. in all namespaces.\n"},
		{"a", "", `
ZONE OBJECT RECORDS READY
(not shown) dns/zone a 2
  dev.example.org. a/dev 0 True
    x.dev.example.org. a/below 0 True
  xn--dv-hja.example.org. a/umlaut 0 True
(no zone yet) a 1

Shown is what namespace a has: the right to list zones, delegations and records in all namespaces shows all.
`},
		{"z", "", "\nNo zone in namespace z, the only one that was searched.\n"},
	} {
		client := makeClient(nil, objects...)
		tr := &tree{Search: find.Search{API: client.KubizoneV1alpha1(), Namespace: test.in, Everywhere: true}}
		if test.in != "" {
			refuseReview(client, "list", "zones", "")
		}
		must.Succeed(t, tr.readObjects(t.Context()))
		of, err := tr.showZones(test.zone)
		out, err := printAnswer(t, of, err)
		got := "\n"
		for line := range strings.Lines(out) {
			got += line[:len(line)-len(strings.TrimLeft(line, " "))] + strings.Join(strings.Fields(line), " ") + "\n"
		}
		if got != test.want || errors.Is(err, ErrNo) != strings.HasPrefix(test.want, "\nNo zone") {
			t.Errorf("tree %s in %q: %v\n%s\nwant%s", test.zone, test.in, err, got, test.want)
		}
	}
}

func TestCommands_haveExamples(t *testing.T) {
	for _, command := range NewCommands() {
		if command.Example == "" || command.Args == nil {
			t.Errorf("%s has no example, or takes any arguments", command.Name())
		}
	}
	if got := fmt.Sprint(newMay().Args(nil, []string{"make", "www.example.org", "A"})); !strings.Contains(got, "create NAME TYPE") {
		t.Error(got)
	}
}
