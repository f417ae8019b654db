// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

func recordJSON(object, zone, address string) *runtime.RawExtension {
	return &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":%q},`+
		`"spec":{"domainName":"%s.%s","type":"A","rdata":%q}}`, object, object, zone, address)}
}

// A change set creates three Records, and another changes two of them. The log and blame of a name have its own values
// and Record, and the number of the others.
func TestLog_ofANameInAChangeSet(t *testing.T) {
	w := newWorld(t, "sets.test", "platform")
	write := func(address string, objects ...string) {
		t.Helper()
		set := &v1alpha1.ChangeSet{}
		for _, object := range objects {
			set.Spec.Items = append(set.Spec.Items, v1alpha1.ChangeSetItem{Apply: recordJSON(object, "sets.test.", address)})
		}
		must.Get(w.makeClient("alice", nil).KubizoneV1alpha1().ChangeSets("platform").Create(t.Context(), set,
			metav1.CreateOptions{FieldManager: "kubectl"}))(t)
	}
	write("192.0.2.1", "a", "b", "c")
	write("192.0.2.2", "a", "b")
	for line, want := range map[string][]string{
		"log b.sets.test": {": Record platform/b and 2 other Records\n+ b.sets.test. A 192.0.2.1\n",
			": Record platform/b and 1 other Record\n- b.sets.test. A 192.0.2.1\n+ b.sets.test. A 192.0.2.2\n"},
		"log record/c -n platform":   {": Record platform/c and 2 other Records\n+ c.sets.test. A 192.0.2.1\n"},
		"blame b.sets.test":          {"platform/b and 1 other Record\n"},
		"blame record/c -n platform": {"platform/c and 2 other Records\n"},
	} {
		out, code := w.runLine("alice", line)
		for _, text := range want {
			if code != 0 || !strings.Contains(out, text) || strings.Contains(out, "platform/a") || strings.Contains(out, "a.sets.test.") {
				t.Errorf("%s: code %d\n%s\nwithout %q", line, code, out, text)
			}
		}
	}
	out, _ := w.runLine("alice", "log c.sets.test -o json")
	var answer v1alpha1.ZoneChanges
	must.Succeed(t, json.Unmarshal([]byte(out), &answer))
	if x := answer.History; len(x) != 1 || len(x[0].Added) != 1 || len(x[0].Records) != 1 || x[0].Records[0].Owner != "c" ||
		x[0].OtherRecords != 2 {
		t.Errorf("%+v", x)
	}
	w.expectLine("alice", "log sets.test", 0, ": Record platform/a, platform/b, platform/c\n")
}

// A zone is taken back right after its deletion, whose history follows: the command waits for it.
func TestRevert_ofAZoneJustDeleted(t *testing.T) {
	const records = 600
	w := newWorld(t, "fresh.test", "platform")
	for k := 0; k < records; k += 100 {
		set := &v1alpha1.ChangeSet{}
		for i := k; i < k+100; i++ {
			created := recordJSON(fmt.Sprint("r", i), "fresh.test.", "192.0.2.1")
			set.Spec.Items = append(set.Spec.Items, v1alpha1.ChangeSetItem{Create: created})
		}
		must.Get(w.up.KubizoneV1alpha1().ChangeSets("platform").Create(t.Context(), set, metav1.CreateOptions{}))(t)
	}
	zones := w.up.KubizoneV1alpha1().Zones("platform")
	zone := w.readZone()
	metav1.SetMetaDataAnnotation(&zone.ObjectMeta, v1alpha1.AnnotationDelete, string(zone.UID))
	must.Get(zones.Update(t.Context(), zone, metav1.UpdateOptions{}))(t)
	must.Succeed(t, zones.Delete(t.Context(), zone.Name, metav1.DeleteOptions{}))
	must.Eventually(t, "the Zone is gone", func() bool { // the primary withdraws the zone first
		_, err := zones.Get(t.Context(), zone.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	_, err := w.up.KubizoneV1alpha1().RESTClient().Get().Namespace("platform").Resource("zones").Name("-").SubResource("changes").
		Param("form", "history").Param("fqdn", "fresh.test").DoRaw(t.Context())
	if err != nil && !(apierrors.IsTimeout(err) && strings.Contains(err.Error(), "deletion is still under way")) {
		t.Errorf("right after the deletion: %v", err)
	}
	t.Logf("right after the deletion: %v", err)
	w.expectLine("alice", "revert fresh.test --deleted --plan", 1, "+ Zone platform/fresh-test")
}
