// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/externaldns"
	"kubi.zone/kubizone/test/must"
)

// patchRecord sends a JSON merge patch, as kubectl patch --type merge does.
func (w *world) patchRecord(namespace, object, manager, patch string) {
	w.Helper()
	must.Get(w.up.KubizoneV1alpha1().Records(namespace).Patch(w.Context(), object, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: manager}))(w.T)
}

func (w *world) readRecord(namespace, object string) *v1alpha1.Record {
	w.Helper()
	return must.Get(w.up.KubizoneV1alpha1().Records(namespace).Get(w.Context(), object, metav1.GetOptions{}))(w.T)
}

func (w *world) deleteRecord(namespace, object string) {
	w.Helper()
	must.Succeed(w.T, w.up.KubizoneV1alpha1().Records(namespace).Delete(w.Context(), object, metav1.DeleteOptions{}))
}

// Labels and annotations added since are removed, not set to "": the server would refuse an empty
// kubi.zone/on-conflict, and an empty last-applied-configuration breaks the next kubectl apply.
func TestRevert_removesLabelsAndAnnotationsAddedSince(t *testing.T) {
	w := newWorld(t, "labels.test", "platform")
	w.putRecord("alice", "platform", "lab", "lab", "192.0.2.1", map[string]string{"keep": "a"})
	good := w.readZone().Status.Serial
	const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
	w.patchRecord("platform", "lab", "kubectl-patch", `{"metadata":{"labels":{"keep":"b","added":"x"},`+
		`"annotations":{"example.org/note":"n","`+v1alpha1.AnnotationOnConflict+`":"wait","`+lastApplied+`":"{}"}},`+
		`"spec":{"rdata":"192.0.2.2"}}`)
	out, code := w.runLine("dave", fmt.Sprintf("revert labels.test --to %d --yes", good))
	if code != 0 || !strings.HasSuffix(out, "1 Record written\n") {
		t.Fatalf("code %d: %s", code, out)
	}
	r := w.readRecord("platform", "lab")
	if r.Spec.RData != "192.0.2.1" || r.Labels["keep"] != "a" || len(r.Annotations) != 0 {
		t.Errorf("spec %+v, labels %q, annotations %q", r.Spec, r.Labels, r.Annotations)
	}
	added := must.Get(w.up.KubizoneV1alpha1().Records("platform").List(t.Context(), metav1.ListOptions{LabelSelector: "added"}))(t)
	if len(added.Items) > 0 {
		t.Errorf("-l added finds %q", added.Items[0].Labels)
	}
	w.expectLine("dave", fmt.Sprintf("revert labels.test --to %d --yes", good), 0, "nothing to write")
}

func (w *world) waitForZone(namespace, object string) {
	w.Helper()
	must.Eventually(w.T, object+" is in a zone", func() bool { return w.readRecord(namespace, object).Status.ZoneRef != nil })
}

func (w *world) putCNAME(namespace, object, owner, manager string, annotations map[string]string) {
	w.Helper()
	r := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: object, Annotations: annotations}, Spec: v1alpha1.RecordSpec{
		DomainName: owner + "." + w.zone.Status.FQDN, Type: "CNAME", RData: "elsewhere.test."}}
	must.Get(w.up.KubizoneV1alpha1().Records(namespace).Create(w.Context(), r, metav1.CreateOptions{FieldManager: manager}))(w.T)
}

// A hostile tenant puts CNAMEs with another field manager, at the tenant's name and at a deleted name of the owner.
// Neither stops the owner's other Records, with or without --include-managed.
func TestRevert_isNotStoppedByAHostileTenant(t *testing.T) {
	w := newWorld(t, "hostile.test", "platform", "team")
	for i := range 3 {
		w.putRecord("alice", "platform", fmt.Sprint("host", i), fmt.Sprint("host", i), fmt.Sprint("192.0.2.", i+1), nil)
	}
	w.putRecord("mallory", "team", "mine", "mine", "192.0.2.66", nil)
	good := w.readZone().Status.Serial
	squat := func() {
		t.Helper()
		for i := range 3 {
			w.deleteRecord("platform", fmt.Sprint("host", i))
		}
		w.deleteRecord("team", "mine")
		w.putCNAME("team", "mine-2", "mine", "tool", nil)
		w.putCNAME("team", "squat", "host1", "tool", nil)
	}
	squat()
	again := fmt.Sprintf("revert hostile.test --to %d --name host1.hostile.test. --include-managed", good)
	out, code := w.runLine("dave", fmt.Sprintf("revert hostile.test --to %d --yes", good))
	if code != 1 || !strings.Contains(out, "2 Records written") ||
		!strings.Contains(out, "1 of your Records are not back: left says why") ||
		!strings.Contains(out, "left: + host1.hostile.test. A 192.0.2.2 (platform/host1)") ||
		!strings.Contains(out, "; kubectl kubizone "+again+" takes the name back") ||
		!strings.Contains(out, "left: + mine.hostile.test. A 192.0.2.66 (team/mine)") {
		t.Errorf("code %d: %s", code, out)
	}
	for _, object := range []string{"host0", "host2"} {
		w.readRecord("platform", object)
	}
	w.expectLine("dave", fmt.Sprintf("revert hostile.test --to %d --plan", good), 1, "nothing to write", "1 of your Records are not back")
	w.expectLine("dave", again+" --yes", 0, "2 Records written")
	w.deleteRecord("platform", "host1")
	w.putCNAME("team", "squat", "host1", "tool", nil)
	// With the right to delete in the tenant's namespace, all go back.
	w.expectLine("dave", fmt.Sprintf("revert hostile.test --to %d --include-managed --yes", good), 0, "4 Records written")
	if r := w.readRecord("platform", "host1"); r.Status.ZoneRef == nil {
		t.Errorf("%+v", r.Status)
	}
}

// One Record of another namespace is refused in a deleted zone: the Zone and the owner's Records return, and a
// repetition goes on.
func TestRevert_ofADeletedZone_leavesRefusedRecordsOfOtherNamespaces(t *testing.T) {
	w := newWorld(t, "gone.test", "platform", "team")
	w.putRecord("alice", "platform", "a", "a", "192.0.2.1", nil)
	w.putRecord("bob", "team", "old", "x.t", "192.0.2.80", nil)
	w.putCNAME("team", "new", "x.t", "kubectl-create", map[string]string{v1alpha1.AnnotationOnConflict: "wait"})
	api := w.makeClient("alice", nil)
	must.Succeed(t, api.KubizoneV1alpha1().Records("platform").Delete(t.Context(), "a", metav1.DeleteOptions{}))
	must.Succeed(t, api.KubizoneV1alpha1().Records("team").Delete(t.Context(), "old", metav1.DeleteOptions{}))
	w.waitForZone("team", "new")
	w.deleteZone(api, "platform")
	out, code := w.runLine("dave", "revert gone.test --deleted --yes")
	if code != 0 || !strings.Contains(out, "2 objects written") ||
		!strings.Contains(out, "left: + x.t.gone.test. A 192.0.2.80 (team/old)") {
		t.Errorf("code %d: %s", code, out)
	}
	w.waitForZone("platform", "a")
	if _, err := w.up.KubizoneV1alpha1().Records("team").Get(t.Context(), "old", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("team/old: %v", err)
	}
	w.expectLine("dave", "revert gone.test --deleted --yes", 0, "nothing to write")
}

// -n limits the undo to the Records of a namespace, for the owner of the zone, too.
func TestRevert_ofANamespaceAlone(t *testing.T) {
	w := newWorld(t, "limit.test", "platform", "team")
	w.putRecord("alice", "platform", "a", "a", "192.0.2.1", nil)
	w.putRecord("bob", "team", "b", "b", "192.0.2.2", nil)
	good := w.readZone().Status.Serial
	for _, of := range []string{"limit.test", "record/b", "platform/limit-test"} {
		w.deleteRecord("platform", "a")
		_ = w.up.KubizoneV1alpha1().Records("team").Delete(t.Context(), "b", metav1.DeleteOptions{})
		if out, code := w.runLine("dave", fmt.Sprintf("revert -n team %s --to %d --yes", of, good)); code != 0 || !strings.Contains(out,
			"1 Record written") || strings.Contains(out, "a.limit.test") || !strings.Contains(out, fmt.Sprint("back to serial ", good)) {
			t.Errorf("%s -n team: code %d: %s", of, code, out)
		}
		w.readRecord("team", "b")
		w.deleteRecord("team", "b")
		if out, code := w.runLine("dave", fmt.Sprintf("revert -n platform limit.test --to %d --yes", good)); code != 0 ||
			!strings.Contains(out, "+ a.limit.test. A 192.0.2.1") || strings.Contains(out, "b.limit.test") {
			t.Errorf("-n platform: code %d: %s", code, out)
		}
		w.readRecord("platform", "a")
	}
}

// Without --to, the hint undoes the owner's last changes, and no later one of a tenant, and is a command that does
// it.
func TestRevert_withoutToHintsAtOwnChanges(t *testing.T) {
	w := newWorld(t, "hint.test", "platform", "team")
	for i := range 3 {
		w.putRecord("alice", "platform", fmt.Sprint("h", i), fmt.Sprint("h", i), "192.0.2.1", nil)
	}
	w.putCNAME("platform", "managed", "managed", "argocd", nil)
	good := w.readZone().Status.Serial
	for i := range 3 {
		w.deleteRecord("platform", fmt.Sprint("h", i))
	}
	w.putRecord("mallory", "team", "late", "late", "192.0.2.66", nil)
	want := fmt.Sprintf("The last 3 changes of Records are serials %d to %d, by ", good+1, good+3)
	command := fmt.Sprintf("revert hint.test -n platform --to %d", good)
	if out, code := w.runLine("dave", "revert hint.test"); code == 0 || !strings.Contains(out, want) ||
		!strings.HasSuffix(strings.TrimSpace(out), "this undoes it: kubectl kubizone "+command) {
		t.Errorf("code %d: %s\nwant %s", code, out, want)
	}
	w.expectLine("dave", command+" --yes", 0, "3 Records written")
	if out, _ := w.runLine("dave", "revert hint.test"); !strings.Contains(out, "The last change, a revert, of Records is serial ") {
		t.Errorf("after a revert: %s", out)
	}
	w.deleteRecord("platform", "managed")
	if out, _ := w.runLine("dave", "revert hint.test"); !strings.HasSuffix(strings.TrimSpace(out), " --include-managed") {
		t.Errorf("of a managed Record: %s", out)
	}
	for line, want := range map[string]string{
		"log hint.test --by nobody --since 24h": "; no change of zone hint.test. by nobody since 24h\n",
		"log hint.test --by nobody":             "; no change of zone hint.test. by nobody\n",
	} {
		if out, code := w.runLine("dave", line); code != 0 || out != want {
			t.Errorf("%s: code %d: %s", line, code, out)
		}
	}
	zone := w.readZone()
	zone.Spec.HistoryRetention = &metav1.Duration{}
	must.Get(w.up.KubizoneV1alpha1().Zones("platform").Update(t.Context(), zone, metav1.UpdateOptions{}))(t)
	if out, _ := w.runLine("dave", "log hint.test --by nobody"); !strings.Contains(out,
		"nobody; spec.historyRetention 0s of the Zone keeps") {
		t.Errorf("without retention: %s", out)
	}
}

// makeHundred returns change sets that create and delete a hundred TXT Records of so many random octets.
func makeHundred(random *rand.Rand, octets int, nameRecord func(i int) (object, domainName string)) (create, remove *v1alpha1.ChangeSet) {
	create, remove = &v1alpha1.ChangeSet{Spec: v1alpha1.ChangeSetSpec{FieldManager: "kubectl-create"}}, &v1alpha1.ChangeSet{}
	for i := range 100 {
		key := "v=DKIM1; p="
		for len(key) < octets {
			key += base64.StdEncoding.EncodeToString([]byte{byte(random.Uint32()), byte(random.Uint32()), byte(random.Uint32())})
		}
		var quoted []string
		for part := range slices.Chunk([]byte(key), 250) {
			quoted = append(quoted, `"`+string(part)+`"`)
		}
		object, domainName := nameRecord(i)
		r := &v1alpha1.Record{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Record"},
			ObjectMeta: metav1.ObjectMeta{Name: object, Labels: map[string]string{"key": fmt.Sprint(i)}},
			Spec:       v1alpha1.RecordSpec{DomainName: domainName, Type: "TXT", RData: strings.Join(quoted, " ")}}
		create.Spec.Items = append(create.Spec.Items, v1alpha1.ChangeSetItem{Create: &runtime.RawExtension{Object: r}})
		remove.Spec.Items = append(remove.Spec.Items, v1alpha1.ChangeSetItem{Delete: &v1alpha1.ChangeSetDelete{Name: r.Name}})
	}
	return create, remove
}

// A change set deletes 100 keys. The step has no room for the Records, but has the values, so all return, with labels.
func TestRevert_bringsBackAHundredKeys(t *testing.T) {
	w := newWorld(t, "keys.test", "platform")
	random := rand.New(rand.NewPCG(1, 2))
	for _, octets := range []int{400, 900} {
		text := func(i int) string { return fmt.Sprint("s", octets, "-", i) }
		create, remove := makeHundred(random, octets, func(i int) (string, string) { return text(i), text(i) + "._domainkey.keys.test." })
		sets := w.up.KubizoneV1alpha1().ChangeSets("platform")
		must.Get(sets.Create(t.Context(), create, metav1.CreateOptions{}))(t)
		good, content, entries := w.readZone().Status.Serial, w.listContents("platform"), w.readEntries()
		must.Get(sets.Create(t.Context(), remove, metav1.CreateOptions{}))(t)
		out, code := w.runLine("dave", fmt.Sprintf("revert keys.test --to %d --yes", good))
		if code != 0 || !strings.Contains(out, "\n100 Records written") || strings.Contains(out, "left: ") {
			t.Errorf("%d octets: code %d: %.3000s", octets, code, out)
		}
		if got := w.listContents("platform"); !maps.Equal(got, content) {
			t.Errorf("%d octets: %d Records of %d, or others", octets, len(got), len(content))
		}
		if got := w.readEntries(); withoutSerial(got) != withoutSerial(entries) {
			t.Errorf("%d octets: other entries", octets)
		}
		if r := w.readRecord("platform", text(99)); r.Labels["key"] != "99" {
			t.Errorf("labels %q", r.Labels)
		}
	}
}

// Two Records share each name and type, so the values of a row do not name their Record. A change set deletes 100 such:
// the specs that fit into the step come back, and the others are left by their name.
func TestRevert_bringsBackSharedValuesThatFit(t *testing.T) {
	w := newWorld(t, "pairs.test", "platform")
	create, remove := makeHundred(rand.New(rand.NewPCG(1, 2)), 904, func(i int) (string, string) {
		return fmt.Sprint("s", i), fmt.Sprintf("s%d.pairs.test.", i/2)
	})
	sets := w.up.KubizoneV1alpha1().ChangeSets("platform")
	must.Get(sets.Create(t.Context(), create, metav1.CreateOptions{}))(t)
	good, content := w.readZone().Status.Serial, w.listContents("platform")
	must.Get(sets.Create(t.Context(), remove, metav1.CreateOptions{}))(t)
	out, code := w.runLine("dave", fmt.Sprintf("revert pairs.test --to %d --yes", good))
	got := w.listContents("platform")
	if code != 1 || len(got) < 40 || strings.Count(out, "\nleft: s") != 100-len(got) || strings.Contains(out, "left: a Record") {
		t.Errorf("%d Records are back, code %d: %.3000s", len(got), code, out)
	}
	for object, text := range got {
		if content[object] != text {
			t.Errorf("%s is %.200s, want %.200s", object, text, content[object])
		}
	}
}

// Records that a revert brings back belong to their writers again: external-dns finds its own, and a server-side apply
// by the field manager of a GitOps tool has no conflict, after a deletion and after a change.
func TestRevert_returnsRecordsToTheirWriters(t *testing.T) {
	w := newWorld(t, "writers.test", "platform")
	records := w.up.KubizoneV1alpha1().Records("platform")
	outside := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{v1alpha1.LabelExternalDNS: "default"},
		Annotations: map[string]string{v1alpha1.AnnotationExternalDNSResource: "service/platform/shop"}},
		Spec: v1alpha1.RecordSpec{DomainName: "shop.writers.test.", Type: "A", Values: []string{"192.0.2.8"}}}
	must.Get(records.Create(t.Context(), outside, metav1.CreateOptions{FieldManager: externaldns.FieldManager}))(t)
	apply := func(manager, object, address string) {
		t.Helper()
		manifest := fmt.Sprintf(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":%q,"labels":{"app":"web"}},`+
			`"spec":{"domainName":"%s.writers.test.","type":"A","rdata":%q}}`, object, object, address)
		_, err := records.Patch(t.Context(), object, types.ApplyPatchType, []byte(manifest), metav1.PatchOptions{FieldManager: manager})
		must.Succeed(t, err)
	}
	apply("kustomize-controller", "gone", "192.0.2.1")
	apply("kustomize-controller", "changed", "192.0.2.2")
	apply("kubectl", "person", "192.0.2.3")
	good := w.readZone().Status.Serial
	for _, object := range []string{"shop", "gone", "person"} {
		w.deleteRecord("platform", object)
	}
	apply("kustomize-controller", "changed", "192.0.2.66")
	w.patchRecord("platform", "changed", "kubectl-label", `{"metadata":{"labels":{"added":"x"}}}`)

	plan, code := w.runLine("dave", fmt.Sprintf("revert writers.test --to %d --plan", good))
	if code != 1 || strings.Count(plan, "\nleft: ") != 3 || !strings.Contains(plan, "+ person.writers.test. A 192.0.2.3") {
		t.Errorf("plan: code %d: %s", code, plan)
	}
	w.expectLine("dave", fmt.Sprintf("revert writers.test --to %d --include-managed --yes", good), 0,
		"again: external-dns may write record platform/shop again", "4 Records written")
	if r := w.readRecord("platform", "shop"); !(externaldns.Mapping{Owner: "default"}).IsOwned(r) ||
		r.Annotations[v1alpha1.AnnotationExternalDNSResource] != "service/platform/shop" {
		t.Errorf("external-dns does not own %+v", r.ObjectMeta)
	}
	r := w.readRecord("platform", "changed")
	if _, added := r.Labels["added"]; r.Spec.RData != "192.0.2.2" || added || r.Labels["app"] != "web" {
		t.Errorf("%+v, labels %q", r.Spec, r.Labels)
	}
	apply("kustomize-controller", "gone", "192.0.2.11")
	apply("kustomize-controller", "changed", "192.0.2.12")
	apply("kubectl", "person", "192.0.2.13")
}

// A change set writes Records of several field managers. Each Record's own manager decides whether a revert takes it,
// and the step has the manager of the request.
func TestRevert_ofAChangeSetByManagers(t *testing.T) {
	w := newWorld(t, "mixed.test", "platform")
	set := &v1alpha1.ChangeSet{}
	for object, manager := range map[string]string{"ma": externaldns.FieldManager, "mb": "kubectl", "mc": "kubectl"} {
		set.Spec.Items = append(set.Spec.Items, v1alpha1.ChangeSetItem{FieldManager: manager, Create: &runtime.RawExtension{
			Object: &v1alpha1.Record{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Record"},
				ObjectMeta: metav1.ObjectMeta{Name: object}, Spec: v1alpha1.RecordSpec{DomainName: object + ".mixed.test.", Type: "A",
					RData: "192.0.2.1"}}}})
	}
	slices.SortFunc(set.Spec.Items, func(x, y v1alpha1.ChangeSetItem) int { return strings.Compare(y.FieldManager, x.FieldManager) })
	must.Get(w.up.KubizoneV1alpha1().ChangeSets("platform").Create(t.Context(), set, metav1.CreateOptions{FieldManager: "team-tool"}))(t)
	if log, _ := w.runLine("dave", "log mixed.test --tail 1"); !strings.Contains(log, "(team-tool): Record platform/ma") {
		t.Errorf("the step has another manager than the request: %s", log)
	}
	for _, again := range []bool{false, true} {
		good := w.readZone().Status.Serial
		for _, object := range []string{"ma", "mb", "mc"} {
			w.deleteRecord("platform", object)
		}
		out, code := w.runLine("dave", fmt.Sprintf("revert mixed.test --to %d --yes", good))
		if code != 0 || !strings.Contains(out, "2 Records written") || !strings.Contains(out,
			"left: ma.mixed.test. A (platform/ma), of external-dns: ") {
			t.Errorf("again %v: code %d: %s", again, code, out)
		}
		// Brought back with the Record of external-dns, the others are no Records of it.
		w.deleteRecord("platform", "mb")
		w.expectLine("dave", fmt.Sprintf("revert mixed.test --to %d --include-managed --yes", good), 0, "2 Records written")
	}
	if log, _ := w.runLine("dave", "log mixed.test --tail 1"); !strings.Contains(log, "by dave (kubizone-revert): ") {
		t.Errorf("the step of a revert: %s", log)
	}
}

// A Delegation revoked before, and a Record deleted by a tenant, were no part of the deletion of the zone: the right
// does not return, and the Record is left.
func TestRevert_ofADeletedZone_leavesEarlierDeletions(t *testing.T) {
	w := makeDelegated(t, "earlier.test")
	frank, carol := w.makeClient("frank", nil).KubizoneV1alpha1(), w.makeClient("carol", nil).KubizoneV1alpha1()
	must.Succeed(t, frank.Delegations("platform").Delete(t.Context(), "team", metav1.DeleteOptions{}))
	must.Succeed(t, carol.Records("team").Delete(t.Context(), "c", metav1.DeleteOptions{}))
	api := w.makeClient("mallory", nil)
	must.Succeed(t, api.KubizoneV1alpha1().Records("platform").Delete(t.Context(), "a", metav1.DeleteOptions{}))
	w.deleteZone(api, "platform")
	out, code := w.runLine("dave", "revert earlier.test --deleted --yes")
	if code != 0 || strings.Contains(out, "Delegation") || !strings.Contains(out, "2 objects written") ||
		!strings.Contains(out, "left: c.earlier.test. (team/c), of carol: it was deleted before the Zone, by another user") {
		t.Errorf("code %d: %s", code, out)
	}
	if all := must.Get(w.up.KubizoneV1alpha1().Delegations("platform").List(t.Context(), metav1.ListOptions{}))(t); len(all.Items) > 0 {
		t.Errorf("the Delegation is back: %+v", all.Items[0].Spec)
	}
}
