// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/pkg/client/overview"
	"kubi.zone/kubizone/test/must"
)

var began = time.Now().Truncate(time.Second)

func timeBefore(d time.Duration) metav1.Time { return metav1.NewTime(began.Add(-d)) }

func makeCondition(kind string, status metav1.ConditionStatus, reason string, since time.Duration) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "because of " + reason + "; somebody ends it",
		LastTransitionTime: timeBefore(since)}
}

func makeZone(namespace, name string, conditions ...metav1.Condition) *v1alpha1.Zone {
	return &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: timeBefore(time.Hour)},
		Status: v1alpha1.ZoneStatus{FQDN: name + ".example.", SettledSerial: 1, Conditions: conditions}}
}

func makeCurrent(namespace, name string) *v1alpha1.Zone {
	return makeZone(namespace, name, makeCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonDelivered, time.Hour))
}

// api answers lists and objects by resource. Resources of Records have their field selector.
type api struct {
	objects map[string][]any
	// forbidden has "RESOURCE" or "RESOURCE in NAMESPACE".
	forbidden []string
	// withoutZones is an API server of other groups alone.
	withoutZones bool
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")[3:]
	namespace := ""
	if parts[0] == "namespaces" {
		namespace, parts = parts[1], parts[2:]
	}
	resource, answer := parts[0], json.NewEncoder(w)
	w.Header().Set("Content-Type", "application/json")
	if slices.Contains(a.forbidden, resource) || slices.Contains(a.forbidden, resource+" in "+namespace) {
		w.WriteHeader(http.StatusForbidden)
		_ = answer.Encode(apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no")).Status())
		return
	}
	objects, known := a.objects[resource+r.URL.Query().Get("fieldSelector")]
	if a.withoutZones && resource == "zones" || !known && (resource == "events" || resource == "challenges" || len(parts) > 1) {
		w.WriteHeader(http.StatusNotFound)
		_ = answer.Encode(apierrors.NewNotFound(schema.GroupResource{Resource: resource}, "").Status())
		return
	}
	if len(parts) > 2 && parts[2] == "changes" {
		at := metav1.Time{Time: time.Date(2026, 11, 20, 14, 0, 0, 0, time.UTC)}
		_ = answer.Encode(v1alpha1.ZoneChanges{TypeMeta: metav1.TypeMeta{Kind: "ZoneChanges", APIVersion: "kubi.zone/v1alpha1"},
			History: []v1alpha1.HistoryStep{{Serial: 7, By: "carol", Time: &at}}})
		return
	}
	if len(parts) > 1 {
		_ = answer.Encode(objects[0])
		return
	}
	items := []any{}
	for _, one := range objects {
		if of, ok := one.(metav1.Object); !ok || namespace == "" || of.GetNamespace() == namespace {
			items = append(items, one)
		}
	}
	next := metav1.ListMeta{}
	if limit, _ := strconv.Atoi(r.URL.Query().Get("limit")); limit > 0 && limit < len(items) {
		items, next.Continue = items[:limit], "more"
	}
	kind := map[string]string{"zones": "ZoneList", "records": "RecordList", "dnsclasses": "DNSClassList", "updatekeys": "UpdateKeyList",
		"events": "EventList", "deliveries": "DeliveryList", "challenges": "ChallengeList"}[resource]
	_ = answer.Encode(map[string]any{"kind": kind, "apiVersion": strings.Join(strings.Split(r.URL.Path, "/")[2:4], "/"), "items": items,
		"metadata": next})
}

func (a *api) newReader(t *testing.T, namespaces ...string) *overview.Reader {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1}
	if len(namespaces) == 0 {
		return must.Get(overview.NewReader(config, []string{metav1.NamespaceAll}, "team-a"))(t)
	}
	return must.Get(overview.NewReader(config, namespaces, ""))(t)
}

func printOverview(t *testing.T, o *overview.Overview, screen output.Screen, form string) string {
	t.Helper()
	var out bytes.Buffer
	command := &cobra.Command{RunE: func(*cobra.Command, []string) error { return nil }}
	format := output.AddFormat(command)
	command.SetArgs([]string{"-o", form})
	must.Succeed(t, command.Execute())
	must.Succeed(t, format.Print(output.NewScreenWriter(&out, screen), "Overview", o, page{o}.printText))
	return out.String()
}

func makeWorld() *api {
	paused := makeCurrent("team-b", "paused")
	paused.Annotations = map[string]string{v1alpha1.AnnotationPaused: "true"}
	held := makeZone("team-a", "held", makeCondition(v1alpha1.ConditionReady, "False", v1alpha1.ReasonMassDeletion, 50*time.Hour),
		makeCondition(v1alpha1.ConditionSettled, "False", v1alpha1.ReasonMassDeletion, 50*time.Hour))
	held.Status.SettledSerial = 0 // as if it had no content yet: no change of it waits
	edited := makeCurrent("team-b", "edited")
	edited.Generation = 2
	leaving := makeCurrent("team-b", "leaving")
	ends := metav1.NewTime(began.Add(30*time.Hour + time.Minute))
	leaving.Status.EndsAt = &ends
	refusal := v1alpha1.UpdateKeyRefusal{Time: timeBefore(10 * time.Minute), RCode: "REFUSED", Message: "no rule"}
	old := refusal
	old.Time = timeBefore(2 * time.Hour)
	makeRecord := func(name string, conditions ...metav1.Condition) *v1alpha1.Record {
		return &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name}, Status: v1alpha1.RecordStatus{
			FQDN: name + ".example.", Conditions: conditions}}
	}
	waiting := makeRecord("waiting", makeCondition(v1alpha1.ConditionReady, "Unknown", v1alpha1.ReasonPending, 6*time.Minute))
	waiting.Status.ZoneRef = &v1alpha1.AdoptingZone{Name: "zone"}
	withdrawn := makeRecord("withdrawn")
	withdrawn.Status.EndsAt = &ends
	challenge := func(name, group, reason string) map[string]any {
		return map[string]any{"metadata": map[string]any{"namespace": "team-a", "name": name}, "status": map[string]any{"reason": reason},
			"spec": map[string]any{"solver": map[string]any{"dns01": map[string]any{"webhook": map[string]any{"groupName": group}}}}}
	}
	return &api{objects: map[string][]any{
		"zones": {makeCurrent("team-a", "good"), makeZone("team-b", "alone",
			makeCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonNoClass, 3*time.Hour)),
			paused, held, edited, leaving, makeZone("team-b", "late",
				makeCondition(v1alpha1.ConditionReady, "Unknown", v1alpha1.ReasonNoController, 5*time.Minute)), makeZone("team-b", "new")},
		"records" + v1alpha1.FieldRecordReady + "=Unknown": {waiting},
		"records" + v1alpha1.FieldRecordReady + "=False": {
			makeRecord("refused", makeCondition(v1alpha1.ConditionAdopted, "False", v1alpha1.ReasonNoEnclosingZone, 3*time.Hour)),
			makeRecord("younger", makeCondition(v1alpha1.ConditionAdopted, "False", v1alpha1.ReasonNoEnclosingZone, time.Hour))},
		"records" + v1alpha1.FieldRecordWithdrawn + "=True": {withdrawn},
		"dnsclasses": {&v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "stopped"}, Spec: v1alpha1.DNSClassSpec{Paused: true}},
			&v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "running"}}},
		"updatekeys": {
			&v1alpha1.UpdateKey{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "key"},
				Status: v1alpha1.UpdateKeyStatus{LastRefusal: &refusal}},
			&v1alpha1.UpdateKey{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "quiet"},
				Status: v1alpha1.UpdateKeyStatus{LastRefusal: &old}}},
		"eventsreason=NameRefused": {map[string]any{"note": "www A: another namespace has it", "reason": "NameRefused",
			"metadata": map[string]any{"namespace": "team-a", "name": "e"}, "eventTime": metav1.NewMicroTime(began.Add(-time.Minute)),
			"regarding": map[string]any{"kind": "Service", "namespace": "team-a", "name": "web"}}},
		"challenges": {challenge("mine", "acme.kubi.zone", "no rule"), challenge("other", "acme.example.com", "not ours"),
			challenge("fine", "acme.kubi.zone", "")},
		"installations": {&v1alpha1.Installation{Status: v1alpha1.InstallationStatus{
			Processes: []v1alpha1.InstallationProcess{
				{Name: "apiserver", Replica: "a-0", Started: new(timeBefore(50 * time.Hour)), Renewed: new(timeBefore(0))},
				{Name: "controller", Replica: "c-0", Started: new(timeBefore(50 * time.Hour)), Renewed: new(timeBefore(5 * time.Minute)),
					Ended: true}},
			Etcd: &v1alpha1.InstallationEtcd{Checked: timeBefore(0), Alarms: []string{"NOSPACE"},
				Members: []v1alpha1.InstallationEtcdMember{
					{Endpoint: "https://e0:2379", Leader: true, Version: "3.6.5",
						SizeBytes: 1 << 29, InUseBytes: 1 << 28, QuotaBytes: 2 << 30},
					{Endpoint: "https://e1:2379", Error: "no answer"}}},
			Certificates: []v1alpha1.InstallationCertificate{
				{Name: "serving", NotAfter: metav1.NewTime(began.Add(73 * time.Hour))},
				{Name: "serving-ca", NotAfter: metav1.NewTime(began.Add(2000 * time.Hour))},
				{Name: "etcd-ca", NotAfter: timeBefore(50 * time.Hour)}},
			LastBackup: new(timeBefore(73 * time.Hour)),
		}}},
	}}
}

var spaces = regexp.MustCompile(` {2,}`)

// joinSpaces makes columns independent of the width of others.
func joinSpaces(text string) string { return spaces.ReplaceAllString(text, " ") }

// N1, N2: all kinds of lines, the oldest first.
func TestStatus_showsAll_N1(t *testing.T) {
	o := makeWorld().newReader(t).Read(t.Context(), nil)
	const want = `no: 8 zones of all namespaces, 4 not current; 1 zone without a class
oldest unconfirmed change: 6m, Record team-a/waiting

NOT CURRENT OBJECT NAME SINCE REASON MESSAGE
Zone team-a/held held.example. 2d2h MassDeletion because of MassDeletion
Zone team-b/new new.example. 60m Pending no controller has judged it yet
Zone team-b/late late.example. 5m NoController because of NoController
Zone team-b/edited edited.example. Pending no controller has judged the last change yet
last change of zone held.example.: by carol at 2026-11-20T14:00:00Z, serial 7
last change of zone new.example.: by carol at 2026-11-20T14:00:00Z, serial 7
last change of zone late.example.: by carol at 2026-11-20T14:00:00Z, serial 7
last change of zone edited.example.: by carol at 2026-11-20T14:00:00Z, serial 7

HELD OBJECT NAME SINCE REASON MESSAGE
Zone team-a/held held.example. 2d2h MassDeletion because of MassDeletion

PAUSED OBJECT NAME SINCE REASON MESSAGE
DNSClass stopped spec.paused of the class is true
Zone team-b/paused paused.example. the annotation kubi.zone/paused is true

WITHDRAWN OBJECT NAME ENDS IN REASON MESSAGE
Record team-a/withdrawn withdrawn.example. 30h
Zone team-b/leaving leaving.example. 30h

REFUSED OBJECT NAME SINCE REASON MESSAGE
UpdateKey team-a/key 10m REFUSED no rule
Service team-a/web 60s NameRefused www A: another namespace has it
Challenge team-a/mine no rule

NO CLASS OBJECT NAME SINCE REASON MESSAGE
Zone team-b/alone alone.example. 3h NoClass because of NoClass

RECORDS REASON OLDEST OBJECT MESSAGE
2 NoEnclosingZone 3h team-a/refused because of NoEnclosingZone
1 Pending 6m team-a/waiting because of Pending

PROCESS STATE AGE SEEN REPLICA
apiserver ok 2d2h 0s a-0
controller FAILS 2d2h 5m c-0

ETCD ROLE SPACE DATA VERSION STATE
https://e0:2379 leader 25% of 2048 MiB 256 MiB in use 3.6.5 ok
https://e1:2379 no answer
error: etcd has the alarm NOSPACE (docs/operations.md, NOSPACE)

warning: certificate serving ends in 3d1h
ok: certificate serving-ca ends in 83d
error: certificate etcd-ca ended 2d2h ago
warning: the last backup is 3d1h old
`
	o.Time = metav1.NewTime(began)
	if got := joinSpaces(printOverview(t, o, output.Screen{}, "text")); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if err := o.Fault(); !errors.Is(err, overview.ErrBehind) {
		t.Error(err)
	}
	if wide := printOverview(t, o, output.Screen{}, "wide"); !strings.Contains(wide, "because of NoController; somebody ends it") {
		t.Error(wide)
	}
	var document overview.Overview
	must.Succeed(t, json.Unmarshal([]byte(printOverview(t, o, output.Screen{}, "json")), &document))
	if len(document.NotCurrent) != 4 || document.Zones != 8 || len(document.NoClass) != 1 ||
		document.Installation.Etcd.Members[0].QuotaBytes != 2<<30 ||
		!document.OldestUnconfirmed.Since.Time.Equal(began.Add(-6*time.Minute)) {
		t.Errorf("%+v", document)
	}
}

// N1, N2: a line for each missing right; the exit code counts only the zones that were read.
func TestStatus_namesMissingRights_N2(t *testing.T) {
	noClass := makeCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonNoClass, time.Hour)
	all := []string{"zones", "records", "dnsclasses", "updatekeys", "events", "challenges", "installations"}
	for _, test := range []struct {
		name             string
		zones            []any
		in               []string
		forbidden, lines []string
		want             error
	}{
		{name: "no zone", lines: []string{"ok: 0 zones of all namespaces, all current"}},
		{name: "zones without a class",
			zones: []any{makeCurrent("team-a", "good"), makeZone("team-a", "alone", noClass), makeZone("team-b", "alone", noClass)},
			lines: []string{"ok: 3 zones of all namespaces, all current; 2 zones without a class"}},
		{name: "a tenant", zones: []any{makeCurrent("team-a", "mine"), makeZone("team-b", "theirs")},
			forbidden: []string{"zones in ", "records in ", "updatekeys in ", "events in ", "installations", "dnsclasses"},
			lines: []string{"ok: 1 zone of namespace team-a, all current",
				"?: zones.kubi.zone not read: you lack the right to list zones.kubi.zone",
				"?: installations.kubi.zone not read: you lack the right to get installations.kubi.zone",
				"ClusterRole kubizone-operator has the right",
				"?: dnsclasses.kubi.zone not read: you lack the right to list dnsclasses.kubi.zone"}},
		{name: "two namespaces", zones: []any{makeZone("team-a", "late"), makeCurrent("team-b", "mine"), makeZone("team-c", "late")},
			in: []string{"team-b", "team-a"}, forbidden: []string{"zones in team-a", "records in team-a"},
			lines: []string{"ok: 1 zone of namespace team-b, team-a, all current",
				"?: zones.kubi.zone not read: you lack the right to list zones.kubi.zone in namespace team-a",
				"?: records.kubi.zone not read: you lack the right to list records.kubi.zone in namespace team-a"}},
		{name: "a zone that is not current", zones: []any{makeZone("team-a", "late")}, in: []string{"team-a"}, forbidden: all[1:],
			lines: []string{"no: 1 zone of namespace team-a, 1 not current"}, want: overview.ErrBehind},
		{name: "nothing", zones: []any{makeZone("team-a", "late")}, in: []string{"team-a"}, forbidden: all,
			lines: []string{"error: no zone of namespace team-a could be read",
				"you lack the right to list challenges.acme.cert-manager.io in namespace team-a",
				"you lack the right to list events.events.k8s.io in namespace team-a"}, want: overview.ErrUnread},
	} {
		t.Run(test.name, func(t *testing.T) {
			served := &api{objects: map[string][]any{"zones": test.zones, "installations": {&v1alpha1.Installation{}}},
				forbidden: test.forbidden}
			o := served.newReader(t, test.in...).Read(t.Context(), nil)
			got := printOverview(t, o, output.Screen{}, "text")
			must.Say(t, got, test.lines...)
			if err := o.Fault(); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			if strings.Contains(got, "not found") {
				t.Errorf("an API that is not there is no missing right:\n%s", got)
			}
		})
	}
}

// A cluster without the API of zones has no zone that is current.
func TestStatus_ofAnotherAPI_N2(t *testing.T) {
	o := (&api{objects: map[string][]any{}, withoutZones: true}).newReader(t).Read(t.Context(), nil)
	if err := o.Fault(); !errors.Is(err, overview.ErrUnread) {
		t.Errorf("%v: %s", err, o.Summary())
	}
}

// S7.12: the servers that delay a zone are named, with the answer to NOTIFY before all else.
func TestStatus_namesTheServersBehind_S7_12(t *testing.T) {
	late := makeZone("team-a", "late", makeCondition(v1alpha1.ConditionReady, "Unknown", v1alpha1.ReasonNotifyFailing, time.Minute))
	delivery := &v1alpha1.Delivery{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "late-d"}}
	delivery.Spec.Zone.FQDN = "late.example."
	delivery.Status = v1alpha1.DeliveryStatus{Serial: 7,
		Notify: []v1alpha1.DeliveryNotify{{Server: "192.0.2.1", Message: "192.0.2.1 answers REFUSED to NOTIFY",
			Remedy: "admit it there: BIND allow-notify"}},
		Servers: []v1alpha1.DeliveryServer{{Name: "192.0.2.1", State: v1alpha1.ServerBehind, Serial: 7},
			{Name: "192.0.2.2", State: v1alpha1.ServerCurrent, Serial: 8}, {Name: "192.0.2.3", State: v1alpha1.ServerBehind, Serial: 5},
			{Name: "192.0.2.4", State: v1alpha1.ServerBehind, Serial: 7}, {Name: "192.0.2.5", State: v1alpha1.ServerBehind},
			{Name: "192.0.2.6", State: v1alpha1.ServerFailed, Message: "192.0.2.6: no answer"}}}
	served := &api{objects: map[string][]any{"zones": {late}, "installations": {&v1alpha1.Installation{}},
		"deliveries" + v1alpha1.FieldDeliveryZoneName + "=late": {delivery}}}
	got := printOverview(t, served.newReader(t).Read(t.Context(), nil), output.Screen{}, "text")
	must.Say(t, got, "server of zone late.example.: 192.0.2.1 answers REFUSED to NOTIFY; admit it there: BIND allow-notify\n",
		"192.0.2.3 went back to serial 5, after serial 7 was confirmed;", "192.0.2.4 has serial 7 of late.example. still;",
		"192.0.2.5 has confirmed no serial of late.example.;", "192.0.2.6: no answer\n")
	if strings.Count(got, "192.0.2.1") != 1 || strings.Contains(got, "192.0.2.2") {
		t.Error(got)
	}
}

// A namespace under deletion that a Zone keeps is named, with the command (S8.1). A Zone that goes keeps none.
func TestStatus_namesNamespacesThatAZoneKeeps_S8_1(t *testing.T) {
	kept, going := makeCurrent("team-a", "kept"), makeCurrent("team-b", "going")
	kept.UID, going.DeletionTimestamp = "u1", new(timeBefore(time.Minute))
	of := &v1alpha1.Installation{Status: v1alpha1.InstallationStatus{NamespacesTerminating: []string{"team-a", "team-b", "team-d"}}}
	served := &api{objects: map[string][]any{"zones": {kept, going, makeCurrent("team-c", "other")}, "installations": {of}}}
	o := served.newReader(t).Read(t.Context(), nil)
	got := printOverview(t, o, output.Screen{}, "wide")
	if len(o.Terminating) != 1 || o.Terminating[0].Name != "team-a" ||
		!strings.Contains(got, "kubectl annotate zone kept -n team-a kubi.zone/delete=u1") {
		t.Errorf("%+v\n%s", o.Terminating, got)
	}
}

// The status of a namespace is not ok while its Records wait in zones of others. That of all namespaces is, since any
// tenant can write a Record that waits.
func TestStatus_ofATenantCountsHisRecords(t *testing.T) {
	waiting := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "www"}, Status: v1alpha1.RecordStatus{
		ZoneRef: &v1alpha1.AdoptingZone{}, Conditions: []metav1.Condition{
			makeCondition(v1alpha1.ConditionReady, "Unknown", v1alpha1.ReasonNoController, time.Minute)}}}
	served := &api{objects: map[string][]any{"records" + v1alpha1.FieldRecordReady + "=Unknown": {waiting},
		"installations": {&v1alpha1.Installation{}}}}
	o := served.newReader(t, "team-a").Read(t.Context(), nil)
	if got := printOverview(t, o, output.Screen{}, "text"); !strings.HasPrefix(got,
		"no: 0 zones of namespace team-a; 1 Record not Ready, the most by NoController\n") {
		t.Error(got)
	}
	if err := o.Fault(); !errors.Is(err, overview.ErrWaiting) || o.Verdict() != "no" {
		t.Error(err)
	}
	if o := served.newReader(t).Read(t.Context(), nil); o.Verdict() != "ok" {
		t.Error(o.Summary())
	}
}

// Long lists have ten rows; wide has all.
func TestStatus_isOneScreen(t *testing.T) {
	served := &api{objects: map[string][]any{"installations": {&v1alpha1.Installation{}}}}
	for i := range 25 {
		served.objects["zones"] = append(served.objects["zones"], makeZone("team-a", fmt.Sprintf("z%02d", i)))
	}
	o := served.newReader(t).Read(t.Context(), nil)
	if got := printOverview(t, o, output.Screen{Width: 80}, "text"); strings.Count(got, "team-a/") != 10 ||
		!strings.Contains(got, "and 15 more: -o wide has all") {
		t.Error(got)
	}
	if got := printOverview(t, o, output.Screen{Width: 80}, "wide"); strings.Count(got, "team-a/") != 25 {
		t.Error(got)
	}
}

// The status command reads one page of each list, so that a large cluster does not delay it. It names the lists that
// have further objects.
func TestRead_readsTheFirstObjects(t *testing.T) {
	served := makeWorld()
	r := served.newReader(t)
	r.MaxObjects = 1
	o := r.Read(t.Context(), nil)
	if o.Zones != 8 || len(o.Records) != 2 || o.Records[0].Count != 1 || o.Records[1].Count != 1 {
		t.Errorf("%d zones, Records %+v", o.Zones, o.Records)
	}
	slices.Sort(o.Partial)
	want := []string{"challenges.acme.cert-manager.io", "dnsclasses.kubi.zone", "records.kubi.zone", "updatekeys.kubi.zone"}
	if !slices.Equal(o.Partial, want) {
		t.Errorf("partial %q, want %q", o.Partial, want)
	}
	if r.MaxObjects = 3; len(r.Read(t.Context(), nil).Partial) != 0 {
		t.Errorf("partial of whole lists: %q", o.Partial)
	}
}

// With --watch the status is drawn again in place on the terminal, every two seconds at most (N3).
func TestStatus_watchesInPlace_N3(t *testing.T) {
	served := &api{objects: map[string][]any{"zones": {makeCurrent("team-a", "good")}, "installations": {&v1alpha1.Installation{}}}}
	ctx, end := context.WithTimeout(t.Context(), interval+interval/2)
	defer end()
	var out bytes.Buffer
	format := output.AddFormat(&cobra.Command{})
	must.Succeed(t, watchAll(ctx, served.newReader(t), output.NewScreenWriter(&out, output.Screen{Width: 80, Height: 5}), format))
	if n := strings.Count(out.String(), "\x1b[Hok: 1 zone of "); n != 2 {
		t.Errorf("drawn %d times: %q", n, out.String())
	}
	if n := strings.Count(out.String(), "\n"); n > 8 {
		t.Errorf("%d lines for two screens of four: %q", n, out.String())
	}
}
