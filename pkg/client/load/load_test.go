// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
)

const file = `$ORIGIN example.org.
$TTL 3600
@	IN	SOA	ns1 hostmaster 1 1800 900 604800 86400
@	IN	NS	ns1
ns1	IN	A	192.0.2.1
www	IN	A	192.0.2.2
www	IN	AAAA	2001:db8::2
`

type lab struct {
	*Loader
	server   *fake.Clientset
	mutex    sync.Mutex
	messages []string
	// written has the verbs and names of change set items.
	written []string
}

func newLab(t *testing.T, server *fake.Clientset) *lab {
	l := &lab{server: server}
	l.Loader = newLoader(Config{Namespace: "team", Interval: time.Hour, Report: func(line string) {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		l.messages = append(l.messages, line)
		t.Log(line)
	}}, server, nil, nil, &warnings{})
	server.PrependReactor("create", "changesets", l.answerChangeSet)
	server.PrependReactor("create", "zones", func(action clienttesting.Action) (bool, runtime.Object, error) {
		zone := action.(clienttesting.CreateAction).GetObject().(*v1alpha1.Zone)
		zone.Status.FQDN, zone.Status.View = zone.Spec.DomainName, zone.Spec.View
		zone.Status.Serial = *zone.Spec.MinimumSerial
		return false, nil, nil
	})
	return l
}

// answerChangeSet answers a change set like the server: all written, or refused items.
func (l *lab) answerChangeSet(action clienttesting.Action) (bool, runtime.Object, error) {
	set := action.(clienttesting.CreateAction).GetObject().(*v1alpha1.ChangeSet).DeepCopy()
	records := v1alpha1.SchemeGroupVersion.WithResource("records")
	refused := &apierrors.StatusError{ErrStatus: metav1.Status{Details: &metav1.StatusDetails{Kind: "ChangeSet"}}}
	var undo []string
	for i, item := range set.Spec.Items {
		of, operation := &v1alpha1.Record{}, v1alpha1.OperationCreated
		var do clienttesting.Action
		if item.Delete != nil {
			of.Name, operation = item.Delete.Name, v1alpha1.OperationDeleted
			do = clienttesting.NewDeleteAction(records, action.GetNamespace(), of.Name)
		} else {
			if err := json.Unmarshal(item.Create.Raw, of); err != nil {
				return true, nil, err
			}
			do = clienttesting.NewCreateAction(records, action.GetNamespace(), of)
		}
		err := l.react(do)
		var status apierrors.APIStatus
		switch {
		case err == nil:
			if item.Create != nil {
				undo = append(undo, of.Name)
			}
			set.Status.Items = append(set.Status.Items, v1alpha1.ChangeSetItemStatus{Name: of.Name, Operation: operation})
		case errors.As(err, &status) && status.Status().Code < 500:
			refused.ErrStatus.Reason, refused.ErrStatus.Code = status.Status().Reason, status.Status().Code
			refused.ErrStatus.Details.Causes = append(refused.ErrStatus.Details.Causes, metav1.StatusCause{
				Type: metav1.CauseType(status.Status().Reason), Field: refusal.ItemPath(i).String(), Message: err.Error()})
		default:
			return true, nil, err
		}
	}
	if len(refused.ErrStatus.Details.Causes) == 0 {
		for _, item := range set.Status.Items {
			verb := map[string]string{v1alpha1.OperationCreated: "create ", v1alpha1.OperationDeleted: "delete "}[item.Operation]
			l.written = append(l.written, verb+item.Name)
		}
		return true, set, nil
	}
	for _, object := range undo {
		if err := l.server.Tracker().Delete(records, action.GetNamespace(), object); err != nil {
			return true, nil, err
		}
	}
	return true, nil, refused
}

// react performs an action within another.
func (l *lab) react(action clienttesting.Action) error {
	for _, reactor := range l.server.ReactionChain {
		if reactor.Handles(action) {
			if handled, _, err := reactor.React(action); handled {
				return err
			}
		}
	}
	return nil
}

func (l *lab) loadPath(t *testing.T, path string) Result {
	t.Helper()
	return must.Get(l.Load(t.Context(), Source{Path: path}))(t)
}

func (l *lab) hasReceived(part string) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, line := range l.messages {
		if strings.Contains(line, part) {
			return true
		}
	}
	return false
}

func (l *lab) takeWrites() []string {
	verbs := l.written
	l.written = nil
	for _, action := range l.server.Actions() {
		switch a := action.(type) {
		case clienttesting.CreateAction:
			if a.GetResource().Resource == "changesets" {
				continue
			}
			verbs = append(verbs, "create "+a.GetObject().(metav1.Object).GetName())
		case clienttesting.PatchAction:
			verbs = append(verbs, "patch "+a.GetName())
		case clienttesting.DeleteAction:
			verbs = append(verbs, "delete "+a.GetName())
		}
	}
	l.server.ClearActions()
	return verbs
}

// L3: a second load writes nothing and reads no record; an interrupted load is completed.
func TestLoad_isRepeatable(t *testing.T) {
	path := must.WriteFile(t, filepath.Join(t.TempDir(), "example.org.zone"), file)
	l := newLab(t, fake.NewSimpleClientset())
	if got := l.loadPath(t, path); got != (Result{Written: 5}) {
		t.Errorf("first load: %+v", got)
	}
	zone, err := l.server.KubizoneV1alpha1().Zones("team").Get(t.Context(), "example.org", metav1.GetOptions{})
	if err != nil || zone.Labels[LabelLoaded] == "" {
		t.Fatalf("zone: %+v, %v", zone, err)
	}
	record, err := l.server.KubizoneV1alpha1().Records("team").Get(t.Context(), "www-aaaa.example.org", metav1.GetOptions{})
	if err != nil || record.Spec.RData != "2001:db8::2" || record.Spec.DomainName != "www" || record.Spec.ZoneRef.Name != "example.org" || record.Spec.TTL != nil {
		t.Fatalf("record: %+v, %v", record, err)
	}
	l.takeWrites()
	if got := l.loadPath(t, path); got != (Result{Present: 1}) {
		t.Errorf("second load: %+v", got)
	}
	for _, action := range l.server.Actions() {
		if action.GetVerb() != "list" || action.GetResource().Resource != "zones" {
			t.Errorf("the second load did %s %s", action.GetVerb(), action.GetResource().Resource)
		}
	}

	// An interruption leaves no mark, and a missing record.
	patch := []byte(`{"metadata":{"labels":null}}`)
	must.Get(l.server.KubizoneV1alpha1().Zones("team").Patch(t.Context(), "example.org", types.MergePatchType, patch,
		metav1.PatchOptions{}))(t)
	must.Succeed(t, l.server.KubizoneV1alpha1().Records("team").Delete(t.Context(), "ns1-a.example.org", metav1.DeleteOptions{}))
	if got := l.loadPath(t, path); got != (Result{Written: 1, Present: 4}) {
		t.Errorf("load after an interruption: %+v", got)
	}
}

// Neither a file that is no zone file, nor a refused zone, nor a dangling link keeps the other files of a directory
// from being loaded (L2).
func TestLoad_goesOnAfterAFileThatCannotBeLoaded(t *testing.T) {
	dir := t.TempDir()
	readme := must.WriteFile(t, filepath.Join(dir, "a.zone"), "This is no zone file.\n")
	refused := must.WriteFile(t, filepath.Join(dir, "b.zone"), strings.ReplaceAll(file, "example.org.", "example.com."))
	must.Succeed(t, os.Symlink("nowhere", filepath.Join(dir, "c.zone")))
	must.WriteFile(t, filepath.Join(dir, "d.zone"), file)
	l := newLab(t, fake.NewSimpleClientset())
	l.server.PrependReactor("create", "zones", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if zone := action.(clienttesting.CreateAction).GetObject().(*v1alpha1.Zone); zone.Spec.DomainName == "example.com." {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Group: "kubi.zone", Resource: "zones"}, zone.Name, errors.New("no right to establish it"))
		}
		return false, nil, nil
	})
	if got := l.loadPath(t, dir); got != (Result{Written: 5, Failed: 3}) {
		t.Errorf("load: %+v", got)
	}
	for _, want := range []string{"not loaded: " + readme + ": no SOA", "not loaded: " + refused + ": zone team/example.com: ",
		"c.zone: no such file"} {
		if !l.hasReceived(want) {
			t.Errorf("no line says %q", want)
		}
	}
}

// If the server does not answer, or does not know the user, the load stops at once, instead of failing again for each
// further file.
func TestStopsAll(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	unanswered := &url.Error{Op: "Get", URL: "https://127.0.0.1:1", Err: syscall.ECONNREFUSED}
	for _, tc := range []struct {
		ctx  context.Context
		err  error
		want bool
	}{
		{t.Context(), errNoSOA, false},
		{t.Context(), &fs.PathError{Op: "open", Err: fs.ErrPermission}, false},
		{t.Context(), apierrors.NewForbidden(schema.GroupResource{}, "a", errors.New("no")), false},
		{t.Context(), fmt.Errorf("zone a: %w (tried 6 times)", unanswered), true},
		{t.Context(), apierrors.NewUnauthorized("who?"), true},
		{over, errNoSOA, true},
	} {
		if got := StopsAll(tc.ctx, tc.err); got != tc.want {
			t.Errorf("%v: %v", tc.err, got)
		}
	}
}

// The server fails every creation once with a temporary error, for some objects after it has stored them. The loader
// retries, finds the stored objects, and creates none twice.
func TestLoad_outlastsAServerThatStumbles(t *testing.T) {
	path := must.WriteFile(t, filepath.Join(t.TempDir(), "example.org.zone"), file)
	l := newLab(t, fake.NewSimpleClientset())
	var mutex sync.Mutex
	stumbled := make(map[string]bool)
	l.server.PrependReactor("create", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		mutex.Lock()
		defer mutex.Unlock()
		object := action.(clienttesting.CreateAction).GetObject()
		id := object.(metav1.Object).GetName()
		if stumbled[id] {
			return false, nil, nil
		}
		stumbled[id] = true
		if strings.HasPrefix(id, "www") { // written, but the answer is lost
			if err := l.server.Tracker().Create(action.GetResource(), object, action.GetNamespace()); err != nil {
				return true, nil, err
			}
		}
		return true, nil, apierrors.NewServerTimeout(action.GetResource().GroupResource(), "create", 1)
	})
	got := l.loadPath(t, path)
	if got.Written+got.Present != 5 || got.Refused+got.Left > 0 {
		t.Errorf("result: %+v", got)
	}
	list, err := l.server.KubizoneV1alpha1().Records("team").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 4 {
		t.Errorf("%d records, %v", len(list.Items), err)
	}
}

// A patch is retried on the same object.
func TestLoad_changesAfterAServerThatStumbles(t *testing.T) {
	path := must.WriteFile(t, filepath.Join(t.TempDir(), "example.org.zone"), file)
	l := newLab(t, fake.NewSimpleClientset())
	l.loadPath(t, path)
	var mutex sync.Mutex
	stumbled := make(map[string]bool)
	l.server.PrependReactor("patch", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		mutex.Lock()
		defer mutex.Unlock()
		id := action.(clienttesting.PatchAction).GetName()
		if id == "" {
			t.Errorf("a patch of %s without a name", action.GetResource().Resource)
		}
		if stumbled[id] {
			return false, nil, nil
		}
		stumbled[id] = true
		return true, nil, apierrors.NewServerTimeout(action.GetResource().GroupResource(), "patch", 1)
	})
	must.WriteFile(t, path, strings.NewReplacer("192.0.2.1", "198.51.100.1", "604800", "604801").Replace(file))
	if got := l.loadPath(t, path); got != (Result{Written: 1, Present: 4, NotTaken: 1}) {
		t.Errorf("second load: %+v", got)
	}
}

// L5: foreign objects with the intended names are not touched.
func TestLoad_meetsObjectsOfTheSameName(t *testing.T) {
	path := must.WriteFile(t, filepath.Join(t.TempDir(), "example.org.zone"), file)
	foreign := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "www-a.example.org"}, Spec: v1alpha1.RecordSpec{DomainName: "www.example.net.", Type: "A", RData: "203.0.113.9"}}
	inside := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "example.org"}, Spec: v1alpha1.ZoneSpec{DomainName: "example.org.", View: "inside"}}
	l := newLab(t, fake.NewSimpleClientset(foreign, inside))
	if got := l.loadPath(t, path); got != (Result{Written: 5}) {
		t.Errorf("load: %+v", got)
	}
	if r, err := l.server.KubizoneV1alpha1().Records("team").Get(t.Context(), foreign.Name, metav1.GetOptions{}); err != nil || r.Spec.RData != "203.0.113.9" {
		t.Errorf("another's object is now %+v, %v", r, err)
	}
	zones, _ := l.server.KubizoneV1alpha1().Zones("team").List(t.Context(), metav1.ListOptions{})
	if len(zones.Items) != 2 {
		t.Errorf("zones: %+v", zones.Items)
	}
}

// The loader creates a Record under its usual object name, but another object has taken the name meanwhile. The Record
// gets the alternative name, and a repeated attempt after a lost answer finds the Record under that name.
func TestLoad_knowsItsRecordByTheOtherName(t *testing.T) {
	path := must.WriteFile(t, filepath.Join(t.TempDir(), "example.org.zone"), file)
	l := newLab(t, fake.NewSimpleClientset())
	taken, lost := false, false
	l.server.PrependReactor("create", "records", func(action clienttesting.Action) (bool, runtime.Object, error) {
		object := action.(clienttesting.CreateAction).GetObject()
		switch id := object.(metav1.Object).GetName(); {
		case id == "www-a.example.org" && !taken:
			taken = true
			must.Succeed(t, l.server.Tracker().Add(&v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: id},
				Spec: v1alpha1.RecordSpec{DomainName: "www.example.net.", Type: "A", RData: "203.0.113.9"}}))
		case strings.HasPrefix(id, "www--") && !lost:
			lost = true
			must.Succeed(t, l.server.Tracker().Create(action.GetResource(), object, action.GetNamespace()))
			return true, nil, apierrors.NewServerTimeout(action.GetResource().GroupResource(), "create", 1)
		}
		return false, nil, nil
	})
	if got := l.loadPath(t, path); !lost || got.Refused > 0 || got.Written+got.Present != 5 {
		t.Errorf("the answer is lost: %v; %+v", lost, got)
	}
}

func TestLoad_endsWithItsContext(t *testing.T) {
	path := must.WriteFile(t, filepath.Join(t.TempDir(), "example.org.zone"), file)
	l := newLab(t, fake.NewSimpleClientset())
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	l.server.PrependReactor("create", "records", func(clienttesting.Action) (bool, runtime.Object, error) {
		cancel(stop)
		return true, nil, apierrors.NewServiceUnavailable("not now")
	})
	if _, err := l.Load(ctx, Source{Path: path}); !errors.Is(err, stop) {
		t.Errorf("a cancelled load: %v", err)
	}
}

type kinds map[string]string

func (k kinds) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	resource, ok := k[kind.Kind]
	if !ok {
		return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
	}
	gvk := kind.WithVersion(versions[0])
	return &meta.RESTMapping{Resource: gvk.GroupVersion().WithResource(resource), GroupVersionKind: gvk, Scope: meta.RESTScopeNamespace}, nil
}

// Manifests: parents first in any order; lists split; server fields dropped; refusals by line.
func TestLoad_appliesManifests(t *testing.T) {
	path := must.WriteFile(t, filepath.Join(t.TempDir(), "all.yaml"), `# a comment
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: www, namespace: team-a, resourceVersion: "7", uid: x, managedFields: [{manager: m}]}
spec: {domainName: www.dev.example.org., type: A, rdata: 192.0.2.1}
status: {serial: 7}
---
apiVersion: v1
kind: Namespace
metadata: {name: team-a}
---

apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: dev, namespace: team-a}
spec: {domainName: dev, zoneRef: {name: parent, namespace: team}}
--- # the parent comes last
apiVersion: kubi.zone/v1alpha1
kind: List
items:
- {apiVersion: kubi.zone/v1alpha1, kind: Zone, metadata: {name: parent}, spec: {domainName: example.org., ttl: 3600}}
---
kind: Zone
---
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {generateName: x}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
---
a: 1
a: 2
`)
	server := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	var applied []string
	refusedOnce := false
	server.PrependReactor("patch", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch := action.(clienttesting.PatchAction)
		if patch.GetPatchType() != types.ApplyPatchType || strings.Contains(string(patch.GetPatch()), "managedFields") || strings.Contains(string(patch.GetPatch()), "status") {
			return true, nil, fmt.Errorf("patch %s: %s", patch.GetPatchType(), patch.GetPatch())
		}
		if patch.GetName() == "dev" && !refusedOnce {
			refusedOnce = true
			return true, nil, apierrors.NewForbidden(action.GetResource().GroupResource(), "dev", errors.New("not yet"))
		}
		applied = append(applied, patch.GetNamespace()+"/"+patch.GetName())
		return true, &unstructured.Unstructured{}, nil
	})
	l := newLab(t, fake.NewSimpleClientset())
	l.dynamic, l.mapping = server, kinds{"Zone": "zones", "Record": "records"}
	if got := l.loadPath(t, path); got != (Result{Written: 3, Refused: 4}) {
		t.Errorf("load: %+v", got)
	}
	if got := strings.Join(applied, " "); got != "team/parent team-a/dev team-a/www" {
		t.Errorf("applied in the order %s", got)
	}
	for _, want := range []string{path + ":23: apiVersion or kind is missing", path + ":25: metadata.name of a Zone is missing",
		path + ": secret team/s: the server has no kind Secret", path + ":33: "} {
		if !l.hasReceived("refused: " + want) {
			t.Errorf("no line says %q", want)
		}
	}
	if l.hasReceived("not yet") {
		t.Error("a refusal that a second try overcame is reported")
	}
}

func readManifests(text string) (all []*manifest) {
	read, _ := ReadObjects("all.yaml", []byte(text))
	for _, o := range read {
		all = append(all, newManifest("all.yaml", o))
	}
	return all
}

// Of several Records at a name, the one created first in the former cluster is applied first, in any order of the file,
// because the first claims the name.
func TestByOwner_keepsTheOrderOfThoseWhoWereThereFirst(t *testing.T) {
	text := `
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: second, creationTimestamp: "2024-01-02T00:00:00Z"}, spec: {domainName: www, zoneRef: {name: z}}, status: {fqdn: www.example.org.}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: alone, creationTimestamp: "2024-01-03T00:00:00Z"}, spec: {domainName: ftp.example.org.}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: first, creationTimestamp: "2024-01-01T00:00:00Z"}, spec: {domainName: www.example.org.}}
`
	all := readManifests(text)
	var got []string
	for _, group := range byOwner(all) {
		var objects []string
		for _, m := range group {
			objects = append(objects, m.object.GetName())
		}
		got = append(got, strings.Join(objects, " "))
	}
	if want := []string{"first second", "alone"}; !slices.Equal(got, want) {
		t.Errorf("groups %q, want %q", got, want)
	}
}

// At a name, NS are applied before DS (S4.18). A Warning about glue is not shown if a manifest's NS names the host.
func TestByOwner_appliesNSBeforeDS(t *testing.T) {
	var text strings.Builder
	for i, record := range []string{"sub DS", "sub NS", "ns.sub A", "www A"} {
		owner, rrtype, _ := strings.Cut(record, " ")
		fmt.Fprintf(&text, "---\n{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: r%d}, "+
			"spec: {domainName: %s, type: %s, rdata: ns.sub}}\n",
			i, owner, rrtype)
	}
	all := readManifests(text.String())
	noteResolvedWarnings(all)
	var got []string
	for _, m := range slices.Concat(byOwner(all)...) {
		got = append(got, fmt.Sprint(m.owner, " ", m.rrtype(), " ", m.resolvedWarnings[v1alpha1.WarningUnnamedGlue]))
	}
	if d := cmp.Diff([]string{"sub NS false", "sub DS false", "ns.sub A true", "www A false"}, got); d != "" {
		t.Errorf("order (- wanted)\n%s", d)
	}
}

// Warnings about a Zone without rules, name servers or class are not shown if another manifest of the same run brings
// them: a Delegation, an NS Record at the apex, a DNSClass.
func TestNoteAnswers_looksAtTheOtherManifests(t *testing.T) {
	object := func(kind, metadata, spec string) string {
		return fmt.Sprintf("---\n{apiVersion: kubi.zone/v1alpha1, kind: %s, metadata: {%s}, spec: {%s}}\n", kind, metadata, spec)
	}
	zone := object("Zone", "name: z, namespace: a", "domainName: example.org., dnsClassRefs: [{name: c}]")
	for text, want := range map[string]string{
		"":                                    "",
		object("DNSClass", "name: c", ""):     "NoClass",
		object("DNSClass", "name: other", ""): "",
		object("Delegation", "name: d, namespace: a", "zoneRef: {name: z}"):                                      "NoRules",
		object("Delegation", "name: d, namespace: b", "zoneRef: {name: z}"):                                      "",
		object("Record", "name: r", "domainName: example.org., type: NS"):                                        "NoNameServers",
		object("Record", "name: r", "domainName: sub.example.org., type: NS"):                                    "",
		object("Record", "name: r, namespace: b", "domainName: '@', type: NS, zoneRef: {name: z, namespace: a}"): "NoNameServers",
	} {
		all := readManifests(zone + text)
		noteResolvedWarnings(all)
		var got []string
		for reason, answered := range all[0].resolvedWarnings {
			if answered {
				got = append(got, reason)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: answered %q, want %q", text, got, want)
		}
	}
}

// An address below a delegation may be glue that another delegation of the file names, and the host of an NS may be in
// the file: the server's Warnings of both are not shown, because the file resolves them (S5.6, S6.2).
func TestResolvedWarnings_areOfWhatTheFileHas(t *testing.T) {
	origin := name.MustParse("example.org.")
	sets := []*set{
		{owner: name.MustRel("ns.sub"), typ: rdata.A, data: []string{"192.0.2.3"}},
		{owner: name.MustRel("www.sub"), typ: rdata.A, data: []string{"192.0.2.4"}},
		{owner: name.MustRel("sibling"), typ: rdata.NS, data: []string{"ns.sub", "ns.example.net."}},
		{owner: name.MustRel("free"), typ: rdata.NS, data: []string{"ns.sub", "ns.free"}},
	}
	answers := newResolvedWarnings(sets, origin)
	for _, x := range []struct {
		set      int
		reason   string
		answered bool
	}{
		{0, v1alpha1.WarningUnnamedGlue, true}, {0, "-", false}, {1, v1alpha1.WarningUnnamedGlue, false},
		{2, v1alpha1.WarningUnclaimedHost, true}, {3, v1alpha1.WarningUnclaimedHost, false}, {2, "-", false},
		{2, v1alpha1.WarningAbsentHost, true}, {3, v1alpha1.WarningAbsentHost, false},
	} {
		if answers(sets[x.set])[x.reason] != x.answered {
			t.Errorf("%s of %s is answered: %t", x.reason, sets[x.set].describe(origin), !x.answered)
		}
	}
}

// The loader writes name servers and their addresses first. The zone is then servable before the other Records come;
// otherwise the server would write the status of each earlier Record a second time.
func TestLoad_makesTheZoneServableFirst(t *testing.T) {
	for _, test := range []struct{ server, want string }{
		{"ns1", "ns1-aaaa ns1-a apex-ns sub-ns own-ns www-a ns.sub-a ns.own-a"},
		{"ns.own", "own-ns ns.own-a apex-ns sub-ns www-a ns.sub-a ns1-aaaa ns1-a"}, // glue, as in the root zone
	} {
		path := must.WriteFile(t, filepath.Join(t.TempDir(), "example.org.zone"), `$ORIGIN example.org.
$TTL 3600
@	IN	SOA	ns1 hostmaster 1 1800 900 604800 86400
www	A	192.0.2.2
sub	NS	ns.sub
ns.sub	A	192.0.2.3
ns1	AAAA	2001:db8::1
ns1	A	192.0.2.1
ns.own	A	192.0.2.4
own	NS	ns.own
@	NS	`+test.server+"\n")
		l := newLab(t, fake.NewSimpleClientset())
		l.workers = 1
		l.loadPath(t, path)
		var order []string
		for _, w := range l.takeWrites() {
			if name, is := strings.CutPrefix(w, "create "); is && name != "example.org" {
				order = append(order, strings.TrimSuffix(name, ".example.org"))
			}
		}
		if got := strings.Join(order, " "); got != test.want {
			t.Errorf("name server %s: written in the order %q, want %q", test.server, got, test.want)
		}
	}
}

func TestWarnings_areSaidOnceAndNotWithoutEnd(t *testing.T) {
	var w warnings
	for i := range 2 * (maxWarnings + 3) {
		w.HandleWarningHeaderWithContext(t.Context(), 299, "", fmt.Sprintf("occluded %d", i/2))
	}
	w.HandleWarningHeaderWithContext(t.Context(), 199, "", "not ours")
	for i := range maxWarnings {
		w.HandleWarningHeaderWithContext(t.Context(), 299, v1alpha1.WarningTakesAway, fmt.Sprintf("zone %d is taken away", i))
	}
	all, more := w.takeAll()
	if len(all) != 2*maxWarnings || all[0].text != "zone 0 is taken away" || all[maxWarnings].text != "occluded 0" || more != 3 {
		t.Errorf("%q, %d more", all, more)
	}
	if all, more := w.takeAll(); len(all)+more > 0 {
		t.Error("warnings are said again")
	}
}

func TestWarnings_nameTheSubjectThatTheyAreOf(t *testing.T) {
	answered := map[string]bool{v1alpha1.WarningAbsentHost: true}
	var files subject
	for i := range 7 {
		files.items = append(files.items, subject{title: fmt.Sprint("a:", i)})
	}
	set := subject{items: []subject{{title: "record a/a", resolvedWarnings: answered}, {title: "record a/b"}}}
	for _, test := range []struct {
		of                    subject
		reason, message, want string
	}{
		{subject{}, v1alpha1.WarningTakesAway, "it goes", "it goes"},
		{subject{title: "zone a/b"}, "", "it goes", "zone a/b: it goes"},
		{subject{resolvedWarnings: answered}, v1alpha1.WarningAbsentHost, "no host", ""},
		{set, v1alpha1.WarningAbsentHost, refusal.OfItem(0, "x", "no host"), ""},
		{set, v1alpha1.WarningAbsentHost, refusal.OfItem(1, "b", "no host"), "record a/b: no host"},
		{set, v1alpha1.WarningAbsentHost, refusal.OfItem(1, "b", refusal.Warning("S5.14", "no host")), "record a/b: S5.14: no host"},
		{set, "", refusal.WithItems(refusal.OfItem(0, "x", "no dot"), 1), "no dot (record a/a, record a/b)"},
		{set, v1alpha1.WarningAbsentHost, refusal.WithItems(refusal.OfItem(0, "x", "no host"), 1), "record a/b: no host"},
		{files, "", refusal.WithItems(refusal.OfItem(0, "x", "S5.14: ttl"), 1, 2, 3, 4, 5, 6),
			"S5.14: ttl (a:0, a:1, a:2, a:3, a:4 and 2 more)"},
		{subject{items: []subject{{}}}, "", refusal.OfItem(7, "x", "no host"), refusal.OfItem(7, "x", "no host")},
		{subject{items: []subject{set.items[0], set.items[0]}}, v1alpha1.WarningAbsentHost, "and 3 more, of items 1", ""},
		{set, v1alpha1.WarningAbsentHost, "and 3 more, of items 0", ""},
		{set, v1alpha1.WarningAbsentHost, "and 3 more, of items 0 1", "3 more"},
		{set, v1alpha1.WarningAbsentHost, "and 3 more, of items 7", "3 more"},
		{subject{items: []subject{set.items[0], set.items[0]}}, "AbsentHost+UnnamedGlue", "and 3 more, of items 0",
			"3 more"},
		{subject{items: []subject{set.items[0], set.items[0]}}, "", "and 3 more", "3 more"},
		{set, v1alpha1.WarningAbsentHost, "and 3 more", "3 more"},
	} {
		var w warnings
		w.HandleWarningHeaderWithContext(withSubject(t.Context(), test.of), 299, test.reason, test.message)
		all, more := w.takeAll()
		got := ""
		for _, one := range all {
			if got += one.text; one.reason != test.reason {
				t.Errorf("%+v: reason %q, want %q", test.of, one.reason, test.reason)
			}
		}
		if more > 0 {
			got = fmt.Sprint(more, " more")
		}
		if got != test.want {
			t.Errorf("%+v: %q, want %q", test.of, got, test.want)
		}
	}
}

// A long load reports progress with the first object done after two seconds, then at doubled intervals up to half a
// minute.
func TestEach_saysHowFarItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var messages []string
		l := newLoader(Config{Report: func(line string) { messages = append(messages, fmt.Sprint(time.Since(began), " ", line)) }},
			fake.NewClientset(), nil, nil, &warnings{})
		groups := slices.Repeat([][]int{{1, 2}, {3}}, 34)
		must.Get(runWorkers(t.Context(), l, "example.org.", 1, [][][]int{groups}, func(context.Context, []int) (Result, error) {
			time.Sleep(1700 * time.Millisecond)
			return Result{}, nil
		}))(t)
		want := []string{
			"3.4s loading example.org.: 3 of 102 objects, 1/s", "8.5s loading example.org.: 8 of 102 objects, 1/s",
			"17s loading example.org.: 15 of 102 objects, 1/s", "34s loading example.org.: 30 of 102 objects, 1/s",
			"1m4.6s loading example.org.: 57 of 102 objects, 1/s", "1m35.2s loading example.org.: 84 of 102 objects, 1/s",
		}
		if !slices.Equal(messages, want) {
			t.Errorf("it said %q, want %q", messages, want)
		}
	})
}
