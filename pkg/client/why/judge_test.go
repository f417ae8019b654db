// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apis/reasons"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

func setCondition(conditions *[]metav1.Condition, kind string, status metav1.ConditionStatus, reason, message string) {
	for i := range *conditions {
		if c := &(*conditions)[i]; c.Type == kind {
			c.Status, c.Reason, c.Message = status, reason, message
			return
		}
	}
	*conditions = append(*conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
}

// goodFacts are those of a Record that is delivered to one secondary and delegated by a zone that is not ours.
func goodFacts() *Facts {
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "org", UID: "u"},
		Status: v1alpha1.ZoneStatus{FQDN: "example.org.", Serial: 7, SettledSerial: 7}}
	record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "www"},
		Spec: v1alpha1.RecordSpec{Type: "a", RData: "192.0.2.1"},
		Status: v1alpha1.RecordStatus{FQDN: "www.example.org.", Serial: 7,
			ZoneRef: &v1alpha1.AdoptingZone{Namespace: "dns", Name: "org", UID: "u"}}}
	setCondition(&record.Status.Conditions, "Adopted", "True", "Adopted", "in zone example.org.")
	setCondition(&record.Status.Conditions, "Ready", "True", "Delivered", "confirmed")
	for _, kind := range []string{"Delegated", "Servable", "Settled", "Ready"} {
		setCondition(&zone.Status.Conditions, kind, "True", kind, "")
	}
	row := v1alpha1.DeliveryServer{Name: "192.0.2.53", Serial: 7, State: v1alpha1.ServerCurrent}
	return &Facts{Record: record, AskedName: name.MustParse("www.example.org."), Type: rdata.A,
		ExpectedData: []string{"192.0.2.1"}, Exact: true,
		Zone: &ZoneFacts{Namespace: "dns", Name: "org", FQDN: name.MustParse("example.org."), Object: zone,
			Deliveries: []v1alpha1.Delivery{{Spec: v1alpha1.DeliverySpec{ClassRef: v1alpha1.DNSClassReference{Name: "public"}},
				Status: v1alpha1.DeliveryStatus{Serial: 7, Servers: []v1alpha1.DeliveryServer{row}}}},
			Classes: map[string]*v1alpha1.DNSClass{"public": {}},
			Servers: []Server{{Of: "192.0.2.53 of public", Address: "192.0.2.53:53", Row: &row}},
			Parents: []ParentFacts{{Zone: name.MustParse("example.org."), ParentName: name.MustParse("org."), Asked: true,
				Resolver: "192.0.2.1:53", NS: []string{"ns.example.org."}, WantNS: []string{"ns.example.org."}}}},
		Answers: []ServerAnswer{{Asked: true, RCode: "NOERROR", Authoritative: true, HasSOA: true, Serial: 7, Data: []string{"192.0.2.1"}}},
	}
}

func delayRecord(f *Facts, status metav1.ConditionStatus, reason, message string) {
	f.Record.Status.Serial, f.Zone.Object.Status.Serial, f.Zone.Object.Status.SettledSerial = 8, 8, 8
	setCondition(&f.Record.Status.Conditions, "Ready", status, reason, message)
	setCondition(&f.Zone.Object.Status.Conditions, "Ready", status, reason, message)
}

// W2: each fault is at its link, with role and step; no earlier link fails. "ok" is no fault.
func TestJudge_namesTheFirstFault_W2(t *testing.T) {
	failed := &v1alpha1.DeliveryError{Reason: "AuthenticationFailed",
		Message:   "public: its server refuses the controller's key or credentials",
		Timestamp: metav1.NewTime(time.Unix(0, 0))}
	for _, test := range []struct {
		what   string
		change func(*Facts)
		want   string // kind of, state, reason, role
		says   string
	}{
		{"all is well", func(*Facts) {}, "ok", ""},
		{"no zone", func(f *Facts) {
			f.Zone, f.Record.Status.ZoneRef = nil, nil
			setCondition(&f.Record.Status.Conditions, "Adopted", "False", "NoEnclosingZone", "no zone")
		}, "Rule Fails NoEnclosingZone You", "no zone"},
		{"the name is another's", func(f *Facts) {
			f.Zone, f.Record.Status.ZoneRef = nil, nil
			setCondition(&f.Record.Status.Conditions, "Adopted", "False", "NameHeld", "held")
		}, "Rule Fails NameHeld You", ""},
		{"a rule was withdrawn", func(f *Facts) {
			f.Record.Status.EndsAt = &metav1.Time{}
			setCondition(&f.Record.Status.Conditions, "Adopted", "True", "DelegationWithdrawn", "until then")
		}, "Rule Waits DelegationWithdrawn ZoneOwner", "until then"},
		{"the Record is deleted", func(f *Facts) { f.Record.DeletionTimestamp = &metav1.Time{} },
			"Record team/www Waits Terminating", ""},
		{"not delegated", func(f *Facts) {
			setCondition(&f.Zone.Object.Status.Conditions, "Delegated", "False", "NotDelegated", "no rule lists it")
		}, "Zone example.org. Fails NotDelegated ZoneOwner", "no rule lists it"},
		{"no name servers", func(f *Facts) {
			delayRecord(f, "False", "NotDelegatedOrServable", "see Servable")
			setCondition(&f.Zone.Object.Status.Conditions, "Servable", "False", "NoNameServers", "none")
		}, "Zone example.org. Fails NoNameServers ZoneOwner", "none"},
		{"the zone is deleted", func(f *Facts) { f.Zone.Object.DeletionTimestamp = &metav1.Time{} },
			"Zone example.org. Waits ZoneTerminating ZoneOwner", ""},
		{"paused", func(f *Facts) { delayRecord(f, "Unknown", "Paused", "the zone is paused") },
			"Zone example.org. Waits Paused ZoneOwner", "the zone is paused"},
		{"paused a moment ago", func(f *Facts) {
			delayRecord(f, "Unknown", "Pending", "")
			f.Zone.Object.Annotations = map[string]string{v1alpha1.AnnotationPaused: "true"}
		}, "Zone example.org. Waits Paused ZoneOwner", "is paused"},
		{"paused after the delivery", func(f *Facts) {
			f.Zone.Object.Annotations = map[string]string{v1alpha1.AnnotationPaused: "true"}
		}, "ok", ""},
		{"frozen", func(f *Facts) { delayRecord(f, "False", "Frozen", "damage") }, "Zone example.org. Fails Frozen Platform", "damage"},
		{"held before the Record", func(f *Facts) {
			f.Zone.Object.Status.Serial = 9
			setCondition(&f.Zone.Object.Status.Conditions, "Settled", "False", "MassDeletion", "held")
			setCondition(&f.Zone.Object.Status.Conditions, "Ready", "False", "MassDeletion", "held")
		}, "ok", ""},
		{"held with the Record", func(f *Facts) {
			delayRecord(f, "False", "MassDeletion", "held")
			f.Zone.Object.Status.SettledSerial = 7
			setCondition(&f.Zone.Object.Status.Conditions, "Settled", "False", "MassDeletion", "much was removed")
		}, "Serial 8 Fails MassDeletion ZoneOwner", "much was removed"},
		{"a cascade", func(f *Facts) {
			delayRecord(f, "Unknown", "Pending", "")
			f.Zone.Object.Status.SettledSerial = 7
			setCondition(&f.Zone.Object.Status.Conditions, "Settled", "False", "Cascading", "moving")
		}, "Serial 8 Waits Cascading", "moving"},
		{"a class is paused", func(f *Facts) {
			delayRecord(f, "Unknown", "ClassPaused", "public: the class is paused; the platform ...")
		},
			"Class public Waits ClassPaused Platform", "the class is paused"},
		{"a class with a fault is paused", func(f *Facts) {
			delayRecord(f, "Unknown", "ClassPaused", "public: the class is paused; the platform ...")
			f.Zone.Deliveries[0].Status.Error = failed
			f.Zone.Classes = map[string]*v1alpha1.DNSClass{"public": {Spec: v1alpha1.DNSClassSpec{Paused: true}}}
		}, "Class public Waits ClassPaused Platform", "the class is paused"},
		{"no controller", func(f *Facts) { delayRecord(f, "Unknown", "NoController", "no controller has worked since noon") },
			"Class public Waits NoController Platform", "since noon"},
		{"no primary", func(f *Facts) { delayRecord(f, "Unknown", "NoPrimary", "public: none has worked") },
			"Class public Waits NoPrimary Platform", ""},
		{"a silent class", func(f *Facts) { delayRecord(f, "Unknown", "AwaitsClass", "public: it has not confirmed") },
			"Class public Waits AwaitsClass Platform", ""},
		{"under way", func(f *Facts) { delayRecord(f, "Unknown", "Pending", "") }, "Class public Waits Pending", "serial 7, not 8"},
		{"a server refuses NOTIFY", func(f *Facts) {
			delayRecord(f, "Unknown", "NotifyFailing", "public: a server of it does not confirm NOTIFY; the platform "+class.StepFindServer)
			f.Zone.Deliveries[0].Status.Notify = []v1alpha1.DeliveryNotify{{Server: "192.0.2.53", Answer: "REFUSED",
				Message: "192.0.2.53 answers REFUSED to NOTIFY for the zone from 10.0.0.7", Remedy: "admit it there: BIND allow-notify"}}
		}, "Class public Fails NotifyFailing Platform", "192.0.2.53 answers REFUSED to NOTIFY for the zone from 10.0.0.7; confirmed is"},
		{"a server transfers nothing over TLS", func(f *Facts) {
			delayRecord(f, "Unknown", "TLSFailing", "public: a server transfers nothing over TLS; the platform "+class.StepFindServer)
			f.Zone.Deliveries[0].Status.Notify = []v1alpha1.DeliveryNotify{{Server: "192.0.2.53", Answer: "TLSVersion",
				Message: "192.0.2.53 transfers nothing over TLS: it lacks TLS 1.3", Remedy: "let it use TLS 1.3"}}
		}, "Class public Fails TLSFailing Platform", "it lacks TLS 1.3; confirmed is"},
		{"a server has another key, and refuses NOTIFY too", func(f *Facts) {
			delayRecord(f, "False", "AuthenticationFailed", "public: denied")
			f.Zone.Deliveries[0].Status.Error = failed
			f.Zone.Deliveries[0].Status.Notify = []v1alpha1.DeliveryNotify{{Server: "192.0.2.53", Answer: "BADSIG", Message: "m"}}
		}, "Class public Fails AuthenticationFailed Platform", "refuses the controller's key"},
		{"a server is behind for long", func(f *Facts) {
			delayRecord(f, "Unknown", "AwaitsClass", "public: it has not confirmed the change yet; the platform "+class.StepFindServer)
			f.Zone.Deliveries[0].Status.Servers[0].State, f.Zone.Deliveries[0].Spec.Zone.FQDN = v1alpha1.ServerBehind, "example.org."
		}, "Class public Waits AwaitsClass Platform", "192.0.2.53 has serial 7 of example.org. still; confirmed is serial 7"},
		{"under way for long", func(f *Facts) {
			delayRecord(f, "Unknown", "Pending", "")
			f.Record.Status.Conditions[1].LastTransitionTime = metav1.NewTime(time.Now().Add(-79 * time.Second))
		}, "Class public Waits Pending Platform", "serial 7, not 8"},
		{"access denied", func(f *Facts) {
			delayRecord(f, "False", "AuthenticationFailed", "public: denied")
			f.Zone.Deliveries[0].Status.Error = failed
		}, "Class public Fails AuthenticationFailed Platform", "refuses the controller's key"},
		{"access denied, and the class has the server's answer", func(f *Facts) {
			delayRecord(f, "False", "AuthenticationFailed", "public: denied")
			setCondition(&f.Zone.Classes["public"].Status.Conditions, "Ready", "False", "AuthenticationFailed", "error BADSIG")
		}, "Class public Fails AuthenticationFailed Platform", "public: denied: error BADSIG"},
		{"a class that is not there", func(f *Facts) {
			delayRecord(f, "False", "DNSClassNotFound", "no class")
			f.Zone.Deliveries = nil
		}, "Class Fails DNSClassNotFound ZoneOwner", "no class"},
		{"the provider refuses the RRset", func(f *Facts) {
			setCondition(&f.Record.Status.Conditions, "Ready", "False", "ValidationFailed", "refused")
			f.Zone.Deliveries[0].Status.Refused = []v1alpha1.DeliveryRefusal{{RRset: "www.example.org. A", Reason: "ValidationFailed",
				Message: "no such type"}}
		}, "Class public Fails ValidationFailed You", "no such type"},
		{"another RRset is refused", func(f *Facts) {
			f.Zone.Deliveries[0].Status.Refused = []v1alpha1.DeliveryRefusal{{RRset: "www.example.org. AAAA", Reason: "ValidationFailed"}}
		}, "ok", ""},
		{"no class", func(f *Facts) {
			setCondition(&f.Record.Status.Conditions, "Ready", "True", "NoClass", "none")
			f.Zone.Deliveries, f.Zone.Servers, f.Answers = nil, nil, nil
		}, "ok", ""},
		{"a server has other data", func(f *Facts) { f.Answers[0].Data = []string{"192.0.2.9"} },
			"Server 192.0.2.53 of public Fails ContentDiffers Platform", "192.0.2.9 at serial 7, and the zone has 192.0.2.1"},
		{"a server has more data", func(f *Facts) { f.Answers[0].Data = []string{"192.0.2.1", "192.0.2.9"} },
			"Server 192.0.2.53 of public Fails ContentDiffers Platform", ""},
		{"others may add data", func(f *Facts) { f.Exact, f.Answers[0].Data = false, []string{"192.0.2.1", "192.0.2.9"} }, "ok", ""},
		{"a server is behind", func(f *Facts) { f.Answers[0].Serial, f.Answers[0].Data, f.Answers[0].RCode = 6, nil, "NXDOMAIN" },
			"Server 192.0.2.53 of public Waits Pending", "NXDOMAIN at serial 6; the zone has it at serial 7"},
		{"a server went back", func(f *Facts) {
			f.Zone.Servers[0].ConfirmedSerial, f.Answers[0].Serial, f.Answers[0].Data = 7, 6, []string{"192.0.2.9"}
		}, "Server 192.0.2.53 of public Fails ServerWentBack Platform",
			"it went back: serial 7 was confirmed there; answers 192.0.2.9 at serial 6"},
		{"a silent server went back", func(f *Facts) {
			f.Zone.Servers[0].ConfirmedSerial, f.Zone.Servers[0].Row.Serial, f.Zone.Servers[0].Row.State = 7, 6, v1alpha1.ServerBehind
			f.Answers[0] = ServerAnswer{Asked: true, Err: "no answer"}
		}, "Server 192.0.2.53 of public Fails ServerWentBack Platform", "it went back: serial 7 was confirmed there; no answer"},
		{"a server of the class went back", func(f *Facts) {
			setCondition(&f.Zone.Deliveries[0].Status.Conditions, "Ready", "Unknown", "ServerWentBack", "")
		}, "Class public Fails ServerWentBack Platform", "had confirmed serial 7, and a server went back"},
		{"a server has another serial", func(f *Facts) {
			f.Zone.Servers[0].OwnSerial, f.Answers[0].Serial = true, 1
		}, "ok", ""},
		{"a server denies the name", func(f *Facts) { f.Answers[0].Data, f.Answers[0].RCode = nil, "NXDOMAIN" },
			"Server 192.0.2.53 of public Fails ContentDiffers Platform", "answers NXDOMAIN"},
		{"a server has an alias", func(f *Facts) { f.Answers[0].Data, f.Answers[0].Alias = nil, "a.example.net." },
			"Server 192.0.2.53 of public Fails ContentDiffers Platform", "CNAME a.example.net."},
		{"a server of views", func(f *Facts) { f.Zone.View, f.Answers[0].Data = "inside", []string{"192.0.2.9"} }, "ok", ""},
		{"a server does not serve the zone", func(f *Facts) {
			f.Answers[0] = ServerAnswer{Asked: true, RCode: "REFUSED"}
			f.Zone.Servers[0].Row = nil
		}, "Server 192.0.2.53 of public Fails Platform", "REFUSED, without authority"},
		{"a server serves others alone", func(f *Facts) { f.Answers[0] = ServerAnswer{Asked: true, RCode: "REFUSED"} }, "ok", ""},
		{"a server is silent to us", func(f *Facts) { f.Answers[0] = ServerAnswer{Asked: true, Err: "no answer within 2s"} }, "ok", ""},
		{"a server is silent to all", func(f *Facts) {
			f.Answers[0] = ServerAnswer{Asked: true, Err: "no answer within 2s"}
			f.Zone.Servers[0].Row = &v1alpha1.DeliveryServer{State: v1alpha1.ServerFailed, Message: "no answer"}
		}, "Server 192.0.2.53 of public Fails ServerUnreachable Platform", "to the controller: no answer"},
		{"a server of the zone's NS is silent", func(f *Facts) {
			f.Zone.Servers = []Server{{Of: "ns.example.org.", Address: "192.0.2.53:53"}}
			f.Answers[0] = ServerAnswer{Asked: true, Err: "no answer within 2s"}
		}, "Server ns.example.org. Fails Platform", ""},
		{"a server lacks what the class lacks", func(f *Facts) {
			delayRecord(f, "Unknown", "NoController", "none")
			f.Answers[0].Data = nil
		}, "Class public Waits NoController Platform", ""},
		{"no NS at the parent", func(f *Facts) { f.Zone.Parents[0].NS = nil },
			"Parent org. Fails ZoneOwner", "lists no NS of example.org."},
		{"no NS, but the resolver knows the zone", func(f *Facts) {
			f.Zone.Parents[0].NS, f.Zone.Parents[0].Resolved = nil, true
		}, "ok", ""},
		{"lame", func(f *Facts) { f.Zone.Parents[0].NS = []string{"old.example.net."} }, "Parent org. Fails ZoneOwner",
			"delegates example.org. to old.example.net. (lame), and the zone has ns.example.org."},
		{"some NS are the same", func(f *Facts) { f.Zone.Parents[0].NS = []string{"ns.example.org.", "old.example.net."} }, "ok", ""},
		{"DS of an unsigned zone", func(f *Facts) { f.Zone.Parents[0].DS, f.Zone.Parents[0].Keyless = []string{"1"}, true },
			"Parent org. Fails ZoneOwner", "no DNSKEY"},
		{"DS of other keys", func(f *Facts) {
			p := &f.Zone.Parents[0]
			p.DS, p.WantDS, p.Phase = []string{"1"}, []string{"2"}, v1alpha1.DNSSECSigned
		}, "Parent org. Fails ZoneOwner", "has DS 1, and the zone has the keys 2"},
		{"no DS of a signed zone", func(f *Facts) {
			p := &f.Zone.Parents[0]
			p.WantDS, p.Phase = []string{"2"}, v1alpha1.DNSSECSigned
		}, "Parent org. Waits ZoneOwner", "not validated"},
		{"the parent is ours and does not list it", func(f *Facts) {
			f.Zone.Parents[0] = ParentFacts{Zone: name.MustParse("example.org."), ParentName: name.MustParse("org."), Ours: true,
				Asked: true}
		}, "Parent org. Fails ZoneOwner", ""},
		{"a class is hidden", func(f *Facts) {
			f.Zone.ClassesLack, f.Zone.Servers, f.Answers = "get dnsclasses", nil, nil
		}, "ok", ""},
		{"the parent does not answer", func(f *Facts) { f.Zone.Parents[0].Err = "no answer" }, "ok", ""},
		{"nobody is asked", func(f *Facts) { f.Zone.Parents[0].Resolver, f.Answers = "", nil }, "ok", ""},
		{"nothing may be read", func(f *Facts) {
			f.Zone = &ZoneFacts{Namespace: "dns", Name: "org", Lack: "get zones in namespace dns",
				DeliveriesLack: "list deliveries in namespace dns"}
		}, "ok", ""},
		{"nothing may be read, and the Record waits", func(f *Facts) {
			delayRecord(f, "False", "ServerUnreachable", "public: its server does not answer")
			f.Zone = &ZoneFacts{Namespace: "dns", Name: "org", Lack: "get zones", DeliveriesLack: "list deliveries"}
		}, "Class Fails ServerUnreachable Platform", "its server does not answer"},
	} {
		f := goodFacts()
		test.change(f)
		path := Path{Links: Judge(f)}
		path.setState()
		got, text := "ok", ""
		if bad := firstBad(path.Links); bad != nil {
			got, text = strings.Join(strings.Fields(strings.Join([]string{string(bad.Kind), bad.Of, string(bad.State), bad.Reason,
				string(bad.Mends)}, " ")), " "), bad.Text
			if (bad.Mends == reasons.None) != (bad.Step == "" || bad.Step == "nothing" || strings.HasPrefix(bad.Step, "wait")) {
				t.Errorf("%s: mended by %q, step %q", test.what, bad.Mends, bad.Step)
			}
			if strings.Contains(bad.Text, "kubizone doctor") { // it has the server itself
				t.Errorf("%s: %s; step %q", test.what, bad.Text, bad.Step)
			}
		}
		if got != test.want || !strings.Contains(text, test.says) {
			t.Errorf("%s: %s %q, want %s %q\n%+v", test.what, got, text, test.want, test.says, path.Links)
		}
		if isBad := path.State.IsBad(); isBad != (test.want != "ok") {
			t.Errorf("%s: the path is %s", test.what, path.State)
		}
	}
}

// Without the Record's data, as while the zone's name is hidden, a server's answer says nothing about the Record.
func TestJudge_comparesNoUnknownData(t *testing.T) {
	f := goodFacts()
	f.ExpectedData, f.Exact, f.Answers[0].Data = nil, false, []string{"192.0.2.9"}
	links := Judge(f)
	of := slices.IndexFunc(links, func(l Link) bool { return l.Kind == KindServer })
	if l := links[of]; l.State != Unknown || l.Text != "answers 192.0.2.9 at serial 7; the Record's data cannot be compared" {
		t.Errorf("%+v", l)
	}
}

// For a free name, the chain tells whether a rule lets the namespace write it, the next step, and whether the name has
// other types or is delegated by an NS Record.
func TestJudge_describesAFreeName(t *testing.T) {
	for _, test := range []struct {
		what string
		of   AbsentFacts
		want []string
	}{
		{"allowed", AbsentFacts{Namespace: "team", Review: &v1alpha1.NameReviewStatus{Allowed: true, Rule: "*", Zone: "example.org."}},
			[]string{`OK namespace team may write A by the rule "*"`, "Fails no Record has it You create a Record in namespace team"}},
		{"refused", AbsentFacts{Namespace: "team", Review: &v1alpha1.NameReviewStatus{Reason: "no rule", Contact: "dns@example.org"}},
			[]string{"Unknown namespace team may not write A: no rule", "Fails no Record has it ZoneOwner add a rule for the namespace " +
				"that is to have the name (contact: dns@example.org)"}},
		{"unknown", AbsentFacts{Namespace: "team", Lack: "create records"}, []string{"Unknown not shown: you lack the right to create",
			"Fails no Record has it You"}},
		{"another type", AbsentFacts{Namespace: "team", Review: &v1alpha1.NameReviewStatus{Allowed: true}, OtherTypes: []string{"TXT"}},
			[]string{"OK", "Fails no Record of this type: the name has TXT"}},
		{"delegated", AbsentFacts{Namespace: "team", Review: &v1alpha1.NameReviewStatus{}, Cut: "the NS Record a/b at dev.example.org."},
			[]string{"Unknown", "Unknown the NS Record a/b at dev.example.org. delegates the name"}},
	} {
		links := Judge(&Facts{Absent: &test.of, AskedName: name.MustParse("x.example.org."), Type: rdata.A})
		if len(links) != len(test.want) {
			t.Fatalf("%s: %+v", test.what, links)
		}
		for i, l := range links {
			if got := strings.Join([]string{string(l.State), l.Text, string(l.Mends), l.Step}, " "); !strings.HasPrefix(got, test.want[i]) {
				t.Errorf("%s: %q, want %q", test.what, got, test.want[i])
			}
		}
	}
}

// No text of a Record or of a DNS answer, however long and strange, makes a chain long (W4).
func TestJudge_isBounded_W4(t *testing.T) {
	f := goodFacts()
	long := strings.Repeat("\x1b[31m\u202e", 20000)
	f.Record.Spec.RData, f.Answers[0].Data, f.Zone.Parents[0].NS = long, []string{long}, []string{long}
	setCondition(&f.Record.Status.Conditions, "Adopted", "True", "Adopted", long)
	for range 3000 {
		f.Zone.Servers = append(f.Zone.Servers, Server{Of: long, Address: "192.0.2.53:53"})
	}
	path := Path{Links: Judge(f)}
	path.setState()
	total := 0
	for _, l := range path.Links {
		total += len(l.Of) + len(l.Text) + len(l.Step)
	}
	if len(path.Links) > maxLinks+8 || total > 400_000 {
		t.Errorf("%d links, %d octets", len(path.Links), total)
	}
}
