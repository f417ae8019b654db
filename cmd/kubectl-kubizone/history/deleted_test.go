// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/history"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
)

// deleteZone deletes the zone, and waits until the history has the removal.
func (w *world) deleteZone(api versioned.Interface, namespace string) {
	w.Helper()
	zone := must.Get(api.KubizoneV1alpha1().Zones(namespace).Get(w.Context(), w.zone.Name, metav1.GetOptions{}))(w.T)
	metav1.SetMetaDataAnnotation(&zone.ObjectMeta, v1alpha1.AnnotationDelete, string(zone.UID))
	must.Get(api.KubizoneV1alpha1().Zones(namespace).Update(w.Context(), zone, metav1.UpdateOptions{}))(w.T)
	must.Succeed(w.T, api.KubizoneV1alpha1().Zones(namespace).Delete(w.Context(), w.zone.Name, metav1.DeleteOptions{}))
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		answer := &v1alpha1.ZoneChanges{}
		err := w.up.KubizoneV1alpha1().RESTClient().Get().Namespace(namespace).Resource("zones").Name("-").SubResource("changes").
			Param("form", "history").Param("fqdn", w.zone.Status.FQDN).Do(w.Context()).Into(answer)
		_, absent := w.up.KubizoneV1alpha1().Zones(namespace).Get(w.Context(), w.zone.Name, metav1.GetOptions{})
		switch {
		case err == nil && len(answer.History) > 0 && answer.History[0].Zone != nil && apierrors.IsNotFound(absent):
			return
		case time.Now().After(deadline):
			w.Fatalf("the history has no removal: %v, %+v", err, answer)
		}
	}
}

// makeDelegated returns a zone with Records of the owner and of namespace team, by a Delegation.
func makeDelegated(t *testing.T, domain string) *world {
	t.Helper()
	w := newWorld(t, domain, "platform")
	d := &v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Name: "team", Annotations: map[string]string{"ticket": "17"}},
		Spec: v1alpha1.DelegationSpec{ZoneRef: v1alpha1.DelegatedZone{Name: w.zone.Name}, Namespaces: []string{"team"},
			Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}}
	must.Get(w.up.KubizoneV1alpha1().Delegations("platform").Create(t.Context(), d, metav1.CreateOptions{}))(t)
	w.putRecord("alice", "platform", "a", "a", "192.0.2.1", map[string]string{"app": "web"})
	w.putRecord("alice", "team", "b", "b", "192.0.2.2", nil)
	w.putRecord("alice", "team", "c", "c", "192.0.2.3", nil)
	return w
}

// pruneZone deletes the zone with the Delegation and two Records.
func (w *world) pruneZone(user string) {
	w.Helper()
	api := w.makeClient(user, nil)
	must.Succeed(w.T, api.KubizoneV1alpha1().Records("platform").Delete(w.Context(), "a", metav1.DeleteOptions{}))
	must.Succeed(w.T, api.KubizoneV1alpha1().Records("team").Delete(w.Context(), "b", metav1.DeleteOptions{}))
	time.Sleep(1100 * time.Millisecond) // times of steps are in seconds
	must.Succeed(w.T, api.KubizoneV1alpha1().Delegations("platform").Delete(w.Context(), "team", metav1.DeleteOptions{}))
	w.deleteZone(api, "platform")
}

// A deleted Zone comes back with the Delegation and Records, once, and an existing Record joins the Zone.
func TestRevert_ofADeletedZone(t *testing.T) {
	w := makeDelegated(t, "deleted.test")
	zone := w.readZone()
	zone.Annotations = map[string]string{"ticket": "16", v1alpha1.AnnotationPublishDeletions: "1"}
	must.Get(w.up.KubizoneV1alpha1().Zones("platform").Update(t.Context(), zone, metav1.UpdateOptions{}))(t)
	serial, text := w.readZone().Status.Serial, w.readEntries()
	for _, line := range []string{"revert deleted.test --deleted", "revert platform/deleted-test --deleted"} {
		out, code := w.runLine("dave", line)
		if code == 0 || !strings.Contains(out, "zone platform/deleted-test exists") || !strings.Contains(out, "with --to") {
			t.Errorf("%s of a Zone that exists: code %d: %s", line, code, out)
		}
	}
	w.pruneZone("mallory")

	want := []string{"zone deleted.test. deleted by mallory at ", "+ Zone platform/deleted-test\n", "+ Delegation platform/team\n",
		"+ a.deleted.test. A 192.0.2.1, deleted ", " s before the Zone (record platform/a; undoes mallory at ",
		"+ b.deleted.test. A 192.0.2.2, deleted ", " s before the Zone (record team/b; undoes "}
	for _, line := range []string{"revert deleted.test --deleted --plan", "revert platform/deleted-test --deleted --plan"} {
		out, code := w.runLine("dave", line)
		for _, text := range want {
			if code != 1 || !strings.Contains(out, text) {
				t.Errorf("%s: code %d\n%s\nwithout %q", line, code, out, text)
			}
		}
	}
	w.expectLine("dave", "revert deleted.test --deleted --yes", 0, "4 objects written")
	back := w.readZone()
	if got := w.readEntries(); withoutSerial(got) != withoutSerial(text) || back.Status.Serial <= serial {
		t.Errorf("serial %d after %d\n%s\nwant\n%s", back.Status.Serial, serial, got, text)
	}
	if len(back.Annotations) != 1 || back.Annotations["ticket"] != "16" {
		t.Errorf("annotations %q", back.Annotations)
	}
	if r := must.Get(w.up.KubizoneV1alpha1().Records("platform").Get(t.Context(), "a", metav1.GetOptions{}))(t); r.Labels["app"] != "web" {
		t.Errorf("labels %q", r.Labels)
	}
	d := must.Get(w.up.KubizoneV1alpha1().Delegations("platform").Get(t.Context(), "team", metav1.GetOptions{}))(t)
	if d.Annotations["ticket"] != "17" {
		t.Errorf("annotations of the Delegation: %q", d.Annotations)
	}
	w.expectLine("dave", "revert deleted.test --deleted --yes", 0, "nothing to write")

	// Into another namespace: the owner's Records follow, by the rule for the former namespace.
	w.pruneZone("mallory")
	if out, code := w.runLine("dave", "revert platform/deleted-test --deleted -n other --yes"); code != 0 {
		t.Fatalf("into another namespace: code %d: %s", code, out)
	}
	moved := must.Get(w.up.KubizoneV1alpha1().Zones("other").Get(t.Context(), "deleted-test", metav1.GetOptions{}))(t)
	if rule := moved.Spec.Delegations[0]; moved.Status.FQDN != "deleted.test." || rule.Namespace != "platform" ||
		!slices.Equal(rule.Namespaces, []string{"other"}) {
		t.Errorf("%+v", moved.Spec.Delegations)
	}
	must.Get(w.up.KubizoneV1alpha1().Records("other").Get(t.Context(), "a", metav1.GetOptions{}))(t)
	out, code := w.runLine("dave", "revert platform/deleted-test --deleted --yes")
	if code != 1 || !strings.Contains(out, "refused: zone platform/deleted-test: ") {
		t.Errorf("a second one of the name: code %d: %s", code, out)
	}
	out, code = w.runLine("dave", "revert never.test --deleted")
	if code == 0 || !strings.Contains(out, "has no deleted Zone never.test.") {
		t.Errorf("code %d: %s", code, out)
	}
}

// A Zone that was deleted and recreated has the former's content in the history: revert and log name the command.
func TestRevert_ofARecreatedZone(t *testing.T) {
	w := newWorld(t, "twice.test", "platform")
	w.putRecord("alice", "platform", "a", "a", "192.0.2.1", nil)
	good := w.readZone().Status.Serial
	api := w.makeClient("mallory", nil)
	must.Succeed(t, api.KubizoneV1alpha1().Records("platform").Delete(t.Context(), "a", metav1.DeleteOptions{}))
	zone := w.readZone()
	w.deleteZone(api, "platform")
	zone.ObjectMeta = metav1.ObjectMeta{Name: zone.Name}
	must.Get(w.up.KubizoneV1alpha1().Zones("platform").Create(t.Context(), zone, metav1.CreateOptions{}))(t)
	const want = ", and recreated: kubectl kubizone revert twice.test --deleted takes back its former content"
	for _, line := range []string{"log twice.test", "revert twice.test", "revert twice.test --to 24h",
		fmt.Sprint("revert twice.test --to ", good-1)} {
		if out, _ := w.runLine("dave", line); !strings.Contains(out, "the Zone was deleted at ") || !strings.Contains(out, want) {
			t.Errorf("%s: %s", line, out)
		}
	}
	if out, code := w.runLine("dave", "revert twice.test --deleted --yes"); code != 0 ||
		w.readRecord("platform", "a").Status.ZoneRef == nil {
		t.Errorf("the printed command: code %d: %s", code, out)
	}
}

// Without a right in the zone's namespace nothing begins, and after a stop at any step the repetition goes on.
func TestRevert_ofADeletedZone_inSteps(t *testing.T) {
	w := makeDelegated(t, "steps.test")
	text := w.readEntries()
	w.pruneZone("mallory")
	// refusing returns a user without the right to create a resource in a namespace.
	refusing := func(namespace, resource string, dryRun bool) *history.Reader {
		return &history.Reader{Client: w.makeClient("eve", func(r *http.Request) string {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/namespaces/"+namespace+"/"+resource) &&
				(dryRun || !r.URL.Query().Has("dryRun")) {
				return resource
			}
			return ""
		}).KubizoneV1alpha1()}
	}
	makePlan := func(r *history.Reader) *history.Plan {
		t.Helper()
		return must.Get(r.MakeDeletedPlan(t.Context(), history.Deleted{FQDN: name.MustParse("steps.test."), Namespace: "platform"},
			history.Options{}))(t)
	}
	steps := []struct {
		namespace, resource string
		written             int
	}{{"platform", "delegations", 0}, {"platform", "zones", 1}, {"platform", "changesets", 1}, {"team", "changesets", 1}}
	for _, x := range steps[:3] {
		r := refusing(x.namespace, x.resource, true)
		plan := makePlan(r)
		if text := fmt.Sprint(plan.Objects, plan.Changes); plan.Refused != 1 || strings.Contains(text, "no zone adopts") ||
			r.Run(t.Context(), plan) == nil || plan.Written != 0 {
			t.Errorf("without the right to create %s: %+v", x.resource, plan)
		}
	}
	if _, err := w.up.KubizoneV1alpha1().Zones("platform").Get(t.Context(), w.zone.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("it began: %v", err)
	}
	for _, x := range steps {
		r := refusing(x.namespace, x.resource, false)
		plan := makePlan(r)
		err := r.Run(t.Context(), plan)
		if (err == nil) != (x.namespace == "team") || plan.Written != x.written {
			t.Errorf("stopped at %s of %s after %d: %v", x.resource, x.namespace, plan.Written, err)
		}
	}
	r := &history.Reader{Client: w.up.KubizoneV1alpha1()}
	must.Succeed(t, r.Run(t.Context(), makePlan(r)))
	w.expectEntries("after all steps", text)

	// Two at once, by plans of the same moment.
	w.pruneZone("mallory")
	plans := []*history.Plan{makePlan(r), makePlan(r)}
	var wait sync.WaitGroup
	for _, plan := range plans {
		wait.Go(func() {
			r := &history.Reader{Client: w.up.KubizoneV1alpha1()}
			if err := r.Run(t.Context(), plan); err != nil {
				t.Errorf("at once: %v", err)
			}
		})
	}
	wait.Wait()
	w.expectEntries("after two at once", text)
}

// A tenant takes back a child zone after the loss of the namespace, by the rule of the zone above, and the Records
// there. A Zone without retention leaves nothing.
func TestRevert_ofATenantsNamespace(t *testing.T) {
	w := newWorld(t, "above.test", "platform")
	zone := w.readZone()
	zone.Spec.Delegations = append(zone.Spec.Delegations, v1alpha1.DelegationRule{Namespace: "team", Zones: []string{"team"},
		Records: []v1alpha1.RecordDelegation{{Pattern: "shop"}}})
	must.Get(w.up.KubizoneV1alpha1().Zones("platform").Update(t.Context(), zone, metav1.UpdateOptions{}))(t)
	zones := w.up.KubizoneV1alpha1().Zones("team")
	child := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "child"}, Spec: v1alpha1.ZoneSpec{DomainName: "team.above.test.",
		NameServers: []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.54"}}},
		Delegations: []v1alpha1.DelegationRule{{Namespace: "team", Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}}}}
	silent := child.DeepCopy()
	must.Get(zones.Create(t.Context(), child, metav1.CreateOptions{}))(t)
	w.putRecord("tina", "team", "shop", "shop", "192.0.2.7", nil)
	w.putRecord("tina", "team", "www", "www.team", "192.0.2.8", nil)
	text, before := w.readEntries(), time.Now()
	time.Sleep(1100 * time.Millisecond) // times of steps are in seconds
	w.zone = &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "child"}, Status: v1alpha1.ZoneStatus{FQDN: "team.above.test."}}
	api := w.makeClient("ns-controller", nil)
	for _, object := range []string{"shop", "www"} {
		must.Succeed(t, api.KubizoneV1alpha1().Records("team").Delete(t.Context(), object, metav1.DeleteOptions{}))
	}
	w.deleteZone(api, "team")
	w.zone = zone
	for _, line := range []string{"revert -n team team.above.test --deleted --yes",
		"revert -n team above.test --yes --to " + before.UTC().Format(time.RFC3339)} {
		if out, code := w.runLine("tina", line); code != 0 {
			t.Errorf("%s: code %d: %s", line, code, out)
		}
	}
	w.expectEntries("the zone above", text)
	www := must.Get(w.up.KubizoneV1alpha1().Records("team").Get(t.Context(), "www", metav1.GetOptions{}))(t)
	if www.Status.ZoneRef == nil || www.Status.ZoneRef.Name != "child" {
		t.Errorf("%+v", www.Status)
	}

	silent.Name, silent.Spec.DomainName, silent.Spec.HistoryRetention = "silent", "silent.test.", &metav1.Duration{}
	must.Get(zones.Create(t.Context(), silent, metav1.CreateOptions{}))(t)
	must.Succeed(t, zones.Delete(t.Context(), "silent", metav1.DeleteOptions{}))
	out, code := w.runLine("tina", "revert -n team silent.test --deleted")
	if code == 0 || !strings.Contains(out, "no deleted Zone silent.test.") {
		t.Errorf("without retention: code %d: %s", code, out)
	}
}
