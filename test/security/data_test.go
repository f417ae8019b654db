// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// readEntries reads the export by an independent parser.
func readEntries(ctx context.Context, t *testing.T, as *tenant, namespace, name string) []mdns.RR {
	t.Helper()
	text := must.Get(as.RESTClient().Get().Namespace(namespace).Resource("zones").Name(name).SubResource("entries").Param("format", "text").DoRaw(ctx))(t)
	parser := mdns.NewZoneParser(bytes.NewReader(text), ".", "")
	var all []mdns.RR
	for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
		all = append(all, rr)
	}
	if err := parser.Err(); err != nil {
		t.Fatalf("the export cannot be read: %v", err)
	}
	return all
}

// 24: S5.3, S6.1: a value is octets, and the zone's export has the same octets and nothing more.
func hostileData(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	them := a.tenants[victim]
	before := len(readEntries(ctx, t, them, victim, "quietvictim-zone"))
	values := []struct{ kind, value string }{
		{"TXT", `"a\010b.\009IN A 192.0.2.66"`}, {"TXT", `"\"; ( ) \\ \027[31m \000"`}, {"TXT", `"$INCLUDE /etc/passwd"`}, {"TXT", `"a" "; b" ")"`}, {"TXT", `a;b`},
		{"CAA", `0 issue "ca.test; x=\"y\";("`}, {"NAPTR", `1 1 "u" "E2U+sip" "!^.*$!sip:\\\\1;\"@x!" .`}, {"URI", `1 1 "https://x.test/\";$ORIGIN"`},
	}
	for i, x := range values {
		name := fmt.Sprintf("quietvictim-hostile-%d", i)
		domain := fmt.Sprintf("hostile-%d.victim.example.", i)
		if err := them.putRecord(ctx, name, domain, x.kind, x.value); err != nil {
			t.Errorf("%s %s: %v", x.kind, x.value, err)
			continue
		}
		var found []mdns.RR
		for _, rr := range readEntries(ctx, t, them, victim, "quietvictim-zone") {
			if rr.Header().Name == domain {
				found = append(found, rr)
			}
		}
		value := x.value
		if value == "a;b" {
			value = `"a;b"` // bare text is one string
		}
		want := must.Get(mdns.NewRR(domain + " 360 IN " + x.kind + " " + value))(t)
		if len(found) != 1 || !mdns.IsDuplicate(found[0], want) {
			t.Errorf("%s %s is exported as %v", x.kind, x.value, found)
		}
	}
	if now := len(readEntries(ctx, t, them, victim, "quietvictim-zone")); now != before+len(values) {
		t.Errorf("%d records more than before, for %d values", now-before, len(values))
	}
	for i, value := range []string{"a\nb", "\"a\nb\"", "a\rb", "\"a", "192.0.2.1 ; x", "( 192.0.2.1 )", "192.0.2.1\n$INCLUDE /etc/passwd"} {
		kind := "TXT"
		if strings.Contains(value, "192") {
			kind = "A"
		}
		refusedOwn(t, fmt.Sprintf("%q", value), them.putRecord(ctx, fmt.Sprintf("quietvictim-raw-%d", i), "raw.victim.example.", kind,
			value), invalid)
	}
}

// 25: S5.3.
func tryDirectives(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	them := a.tenants[mallory]
	for i, x := range []struct{ domain, kind, value string }{
		{"$GENERATE 1-1000000 a$.team.shared.example.", "A", "192.0.2.25"}, {"$ORIGIN victim.example.", "A", "192.0.2.25"}, {"$INCLUDE", "A", "192.0.2.25"},
		{"d.team.shared.example.", "A", "$INCLUDE /etc/passwd"}, {"d.team.shared.example.", "A", "192.0.2.25\n$GENERATE 1-9 a A 192.0.2.1"}, {"d.team.shared.example.", "A", "@"},
		{"d.team.shared.example.", "$TTL", "1"}, {"d.own.shared.example.", "CNAME", "$ORIGIN victim.example."},
	} {
		expectRefusal(t, fmt.Sprintf("%q %s %q", x.domain, x.kind, x.value), them.putRecord(ctx, fmt.Sprintf("directive-%d", i), x.domain,
			x.kind, x.value), invalid, forbidden)
	}
}

// 28: a tenant's text does not control the reader's terminal.
func tryEscapes(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	them := a.tenants[mallory]
	for i, domain := range []string{"\x1b[2Jx.team.shared.example.", "x\r\nE1120 forged log line.team.shared.example.", "\u202ex.victim.example.", "\u009b31m.team.shared.example."} {
		expectRefusal(t, fmt.Sprintf("%q", domain), them.putRecord(ctx, fmt.Sprintf("escape-%d", i), domain, "A", "192.0.2.28"), invalid,
			forbidden)
	}
	if err := them.putRecord(ctx, "escaped", `\027\010x.own.shared.example.`, "TXT", "\"\\027[31m\\010\""); err != nil {
		expectRefusal(t, "an escaped name", err, invalid)
		must.Succeed(t, them.putRecord(ctx, "escaped", `x.own.shared.example.`, "TXT", "\"\\027[31m\\010\""))
	}
	must.Succeed(t, them.putRecord(ctx, "raw", "raw.own.shared.example.", "TXT", "\"\x1b]0;pwn\a\u009b31m\u202eraw\""))
	for _, name := range []string{"escaped", "raw"} {
		table := must.Get(them.RESTClient().Get().Namespace(mallory).Resource("records").Name(name).
			SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx))(t)
		var columns metav1.Table
		must.Succeed(t, json.Unmarshal(table, &columns))
		for _, row := range columns.Rows {
			for _, cell := range row.Cells {
				revealsNothing(t, "a cell of the table", fmt.Sprint(cell))
			}
		}
	}
	log := a.server.Log()
	for _, raw := range []string{"\x1b[2J", "\nE1120 forged", "\u202e", "\u009b"} {
		if strings.Contains(log, raw) {
			t.Errorf("the server's log has %q", raw)
		}
	}
}

// 54: RBAC decides, and a tenant's role has no right to pass on.
func tryEscalation(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	them := a.tenants[mallory]
	_, err := them.Zones(platform).Patch(ctx, "shared", types.JSONPatchType, []byte(`[{"op":"add","path":"/spec/delegations/-","value":{"namespace":"mallory","records":[{"pattern":"*"}]}}]`), metav1.PatchOptions{})
	expectRefusal(t, "another rule in a foreign zone", err, forbidden)
	_, err = them.DNSClasses().Create(ctx, &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}, metav1.CreateOptions{})
	expectRefusal(t, "a class", err, forbidden)
	cluster := must.Get(kubernetes.NewForConfig(them.config))(t)
	for _, role := range []string{"kubizone-establisher", "cluster-admin"} {
		_, err := cluster.RbacV1().RoleBindings(mallory).Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "more"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: mallory + "-user", APIGroup: rbacv1.GroupName}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		}, metav1.CreateOptions{})
		expectRefusal(t, "binding "+role, err, forbidden)
	}
	for _, other := range []*rest.Request{
		them.RESTClient().Get().Namespace(victim).Resource("records"), them.RESTClient().Get().Namespace(victim).Resource("zones"), them.RESTClient().Get().Resource("records"),
		them.RESTClient().Get().Namespace(platform).Resource("zones").Name("shared").SubResource("entries"), them.RESTClient().Get().Namespace(platform).Resource("zones").Name("shared").SubResource("changes"),
		them.RESTClient().Delete().Namespace(platform).Resource("zones").Name("shared"), them.RESTClient().Delete().Namespace(platform).Resource("records"),
	} {
		if _, err := other.DoRaw(ctx); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", other.URL().Path, err)
		}
	}
}

// 125: a tenant reads the changes of its own Records, and nothing of others by any name or query.
func readHistories(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	them := a.tenants[mallory]
	changes := func(ns, resource, name string) *rest.Request {
		return them.RESTClient().Get().Namespace(ns).Resource(resource).Name(name).SubResource("changes")
	}
	for _, other := range []*rest.Request{
		changes(victim, "records", "-"), changes(victim, "records", "www"), changes(platform, "records", "-"),
		changes(platform, "zones", "shared").Param("form", "history"),
		changes(platform, "zones", "shared").Param("form", "history").Param("sources", "true"),
	} {
		if text, err := other.DoRaw(ctx); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v, %s", other.URL(), err, text)
		}
	}
	theirs := a.tenants[victim].RESTClient().Get().Namespace(victim).Resource("records").Name("-").SubResource("changes")
	var known v1alpha1.RecordChanges
	must.Succeed(t, json.Unmarshal(must.Get(theirs.DoRaw(ctx))(t), &known))
	for _, name := range []string{"-", "www", "*", "..%2f" + victim} {
		text, err := changes(mallory, "records", name).DoRaw(ctx)
		if err == nil && strings.Contains(string(text), victim) {
			t.Errorf("%s: %s", name, text)
		}
		for _, step := range known.History {
			for _, record := range step.Records {
				if record.UID != "" && strings.Contains(string(text), record.UID) {
					t.Errorf("%s has the Record %s of another namespace", name, record.UID)
				}
			}
		}
	}
}

// 127: a deleted Zone's history is read in its namespace alone. A tenant with the right to its name makes and deletes a
// Zone of the name, and reads the history of its own.
func deletedZones(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	owner, next := a.tenants[victim], a.tenants[platform]
	history := func(as *tenant, namespace, object, fqdn string) (*v1alpha1.ZoneChanges, string, error) {
		answer := &v1alpha1.ZoneChanges{}
		text, err := as.RESTClient().Get().Namespace(namespace).Resource("zones").Name(object).SubResource("changes").
			Param("form", "history").Param("fqdn", fqdn).DoRaw(ctx)
		if err == nil {
			err = json.Unmarshal(text, answer)
		}
		return answer, string(text), err
	}
	remove := func(of *tenant, object string) {
		t.Helper()
		must.Succeed(t, of.zones().Delete(ctx, object, metav1.DeleteOptions{}))
		until(ctx, t, "the owner reads the removal", func() error {
			answer, text, err := history(of, of.namespace, "-", "lost.example.")
			if err == nil && (len(answer.History) == 0 || answer.History[0].Zone == nil) {
				err = errors.New(text)
			}
			return err
		})
	}
	lost := makeZone(victim, "quietvictim-lost", "lost.example.", makeRule(victim, nil, "*"))
	must.Get(owner.zones().Create(ctx, lost, metav1.CreateOptions{}))(t)
	remove(owner, "quietvictim-lost")
	_, absent, _ := history(next, platform, "-", "never.example.")
	absent = strings.ReplaceAll(absent, "never.example.", "")
	unknown := func() {
		t.Helper()
		for _, them := range []*tenant{a.tenants[mallory], next} {
			for _, query := range []string{"lost.example.", "LOST.example", "never.example."} {
				_, text, err := history(them, them.namespace, "-", query)
				if !apierrors.IsNotFound(err) || strings.ReplaceAll(text, query, "") != absent {
					t.Errorf("%s of %s: %v, %s", query, them.namespace, err, text)
				}
			}
			for _, object := range []string{"-", "quietvictim-lost"} {
				if _, text, err := history(them, victim, object, "lost.example."); !apierrors.IsForbidden(err) {
					t.Errorf("%s in the victim's namespace: %v, %s", object, err, text)
				}
			}
		}
	}
	unknown()
	must.Get(next.zones().Create(ctx, makeZone(platform, "lost", "lost.example."), metav1.CreateOptions{}))(t)
	unknown()
	remove(next, "lost")
	answer, text, err := history(next, platform, "-", "lost.example.")
	revealsNothing(t, "the history of a Zone of the name", text)
	if err != nil || answer.History[0].Zone.Namespace != platform || len(answer.History) != 2 {
		t.Errorf("%v: %s", err, text)
	}
	if answer, _, err := history(owner, victim, "-", "lost.example."); err != nil || answer.History[0].Zone.Name != "quietvictim-lost" {
		t.Errorf("the owner reads %+v, %v", answer, err)
	}
	if _, _, err := history(a.tenants[mallory], mallory, "-", "lost.example."); !apierrors.IsNotFound(err) {
		t.Errorf("%s: %v", mallory, err)
	}
}

// 50: a class is cluster-scoped, and so are its references: a tenant can neither create nor redirect a class, and a
// zone that names a class gets the class as is.
func ownProvider(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	must.Get(a.admin.DNSClasses().Create(ctx, &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "everybodys"},
		Spec: v1alpha1.DNSClassSpec{
			Transfer: &v1alpha1.TransferProvider{Secondaries: []v1alpha1.Secondary{{Address: "192.0.2.53"}},
				TSIGSecretRef: &v1alpha1.SecretReference{Namespace: platform, Name: "key"}},
		}}, metav1.CreateOptions{}))(t)
	them := a.tenants[mallory]
	for what, patch := range map[string]string{
		"another server": `{"spec":{"transfer":{"secondaries":[{"address":"198.51.100.66"}]}}}`, "another secret": `{"spec":{"transfer":{"tsigSecretRef":{"name":"other"}}}}`,
	} {
		_, err := them.DNSClasses().Patch(ctx, "everybodys", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		expectRefusal(t, what, err, forbidden)
	}
	expectRefusal(t, "its end", them.DNSClasses().Delete(ctx, "everybodys", metav1.DeleteOptions{}), forbidden)
	z := makeZone(victim, "quietvictim-classed", "classed.example.")
	z.Spec.DNSClassRefs = []v1alpha1.DNSClassReference{{Kind: "Secret", Name: "key"}}
	_, err := a.tenants[victim].zones().Create(ctx, z, metav1.CreateOptions{})
	refusedOwn(t, "a zone that names a secret for a class", err, invalid)
}

func (t *tenant) sendOctets(ctx context.Context, test *testing.T, method, path, contentType string, body []byte) (int, string) {
	test.Helper()
	client := must.Get(rest.HTTPClientFor(t.config))(test)
	request := must.Get(http.NewRequestWithContext(ctx, method, t.config.Host+path, bytes.NewReader(body)))(test)
	request.Header.Set("Content-Type", contentType)
	answer, err := client.Do(request)
	if err != nil {
		return 0, err.Error() // a closed connection is an answer too
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	return answer.StatusCode, string(text)
}

// 57: S5.12, and the generic server's limits.
func bigObjects(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	them := a.tenants[mallory]
	path := "/apis/kubi.zone/v1alpha1/namespaces/" + mallory + "/records"
	expectRefusal(t, "1.4 MB of TXT", them.putRecord(ctx, "big", "big.own.shared.example.", "TXT", strings.Repeat("x", 1_400_000)), invalid,
		tooLarge)
	var values []string
	for i := range 100_000 {
		values = append(values, fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255))
	}
	expectRefusal(t, "100,000 values", them.putRecord(ctx, "wide-object", "wide.team.shared.example.", "A", values...), invalid, tooLarge)
	must.Succeed(t, them.putRecord(ctx, "patched", "patched.team.shared.example.", "A", "192.0.2.57"))
	// A record that no write can remove from a zone would stay there (S2.5): a cascade rewrites the record, with the
	// zone.
	filled := makeRecord(mallory, "filled", "filled.team.shared.example.", "A", "192.0.2.57")
	filled.Labels = map[string]string{}
	for i := range 10_000 {
		filled.Labels[fmt.Sprintf("l%d", i)] = strings.Repeat("x", 60)
	}
	_, err := them.records().Create(ctx, filled, metav1.CreateOptions{})
	expectRefusal(t, "800 KB of labels", err, tooLarge)
	operations := bytes.Repeat([]byte(`{"op":"add","path":"/metadata/labels","value":{}},`), 10_001)
	for what, x := range map[string]struct {
		method, path, kind string
		body               []byte
	}{
		"10,000 patch operations": {"PATCH", path + "/patched", "application/json-patch+json", append(append([]byte("["), operations[:len(operations)-1]...), ']')},
		"copies that double":      {"PATCH", path + "/patched", "application/json-patch+json", makeDoublingPatch(40)},
		"deep JSON":               {"POST", path, "application/json", append(bytes.Repeat([]byte(`{"spec":`), 100_000), bytes.Repeat([]byte("}"), 100_000)...)},
		"deep YAML":               {"POST", path, "application/yaml", []byte("a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g]\n")},
		"10 MB":                   {"POST", path, "application/json", bytes.Repeat([]byte(" "), 10<<20)},
	} {
		began := time.Now()
		code, text := them.sendOctets(ctx, t, x.method, x.path, x.kind, x.body)
		if code != 0 && (code < 400 || code >= 500) {
			t.Errorf("%s: %d %.200s", what, code, text)
		}
		t.Logf("%s: %d after %s", what, code, time.Since(began).Round(time.Millisecond))
	}
	// A shared zone can limit the records of each namespace.
	owner := a.tenants[platform]
	limited := makeZone(platform, "limited", "limited.example.", makeRule(mallory, nil, "*"))
	five := int32(5)
	limited.Spec.Limits = &v1alpha1.ZoneLimits{RecordsPerNamespace: &five}
	must.Get(owner.zones().Create(ctx, limited, metav1.CreateOptions{}))(t)
	for i := range 6 {
		err := them.putRecord(ctx, fmt.Sprintf("limited-%d", i), fmt.Sprintf("l%d.limited.example.", i), "A", "192.0.2.57")
		if i < 5 && err != nil {
			t.Error(err)
		} else if i == 5 {
			expectRefusal(t, "the sixth of five", err, forbidden, invalid)
		}
	}
}

func makeDoublingPatch(times int) []byte {
	operations := []string{`{"op":"add","path":"/metadata/annotations","value":{"a":"` + strings.Repeat("x", 1000) + `"}}`}
	for i := range times {
		operations = append(operations, fmt.Sprintf(`{"op":"copy","from":"/metadata","path":"/metadata/x%d"}`, i))
	}
	return []byte("[" + strings.Join(operations, ",") + "]")
}

// 58: I3: each change has a serial in the journal, and followers get NOTIFY of the last (TestNotify_coalesces...).
func busyRecord(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	them := a.tenants[mallory]
	must.Succeed(t, them.putRecord(ctx, "busy", "busy.team.shared.example.", "A", "192.0.2.1"))
	before := must.Get(a.admin.Zones(platform).Get(ctx, "shared", metav1.GetOptions{}))(t)
	const changes = 100
	for i := range changes {
		must.Get(them.records().Patch(ctx, "busy", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"values":["10.0.0.%d"]}}`, i),
			metav1.PatchOptions{}))(t)
	}
	after := must.Get(a.admin.Zones(platform).Get(ctx, "shared", metav1.GetOptions{}))(t)
	if grown := after.Status.Serial - before.Status.Serial; grown != changes {
		t.Errorf("%d changes are %d serials", changes, grown)
	}
	// A follower reads one difference, regardless of the number of changes.
	body, err := a.tenants[platform].RESTClient().Get().Namespace(platform).Resource("zones").Name("shared").SubResource("changes").
		Param("since", fmt.Sprint(before.Status.Serial)).Param("format", "text").DoRaw(ctx)
	if err != nil || !strings.Contains(string(body), fmt.Sprintf("10.0.0.%d", changes-1)) {
		t.Errorf("%v: %.200s", err, body)
	}
}

// unread is the number of unread watches, held the octets that the server may hold for all of them, bearable the
// longest wait of another tenant: a loaded machine is slow, an unread watch lasts half an hour.
const (
	unread   = 300
	held     = 64 << 20
	bearable = 15 * time.Second
)

// 59: a watch not read by its client ends after a few waiting events. The server holds little for all such watches,
// and serves others. The watches bypass the aggregator, which would buffer them.
func unreadWatches(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	them, calm, server := a.tenants[mallory], a.tenants[victim], a.admin.tenantAt(t, a.server)
	must.Succeed(t, calm.putRecord(ctx, "quietvictim-watched", "watched.victim.example.", "TXT", "0"))
	// More than two hundred events, the maximum that waits in the server for a watch.
	const writers, writes = 4, 100
	for i := range writers {
		must.Succeed(t, them.putRecord(ctx, fmt.Sprintf("watched-%d", i), fmt.Sprintf("watched-%d.own.shared.example.", i), "TXT", "0"))
	}
	now := must.Get(calm.records().List(ctx, metav1.ListOptions{}))(t).ResourceVersion
	endedBefore, heapBefore := server.endedWatches(ctx, t), server.measureHeap(ctx, t)

	// Each watch sends 64 KiB, which the client leaves unread.
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: must.Get(rest.TLSConfigFor(them.config))(t), ForceAttemptHTTP2: true,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10},
	}}
	t.Cleanup(client.CloseIdleConnections)
	var bodies [unread]io.ReadCloser
	var opening sync.WaitGroup
	for i := range bodies {
		opening.Go(func() {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server.URL()+"/apis/kubi.zone/v1alpha1/namespaces/"+mallory+"/records?watch=true&resourceVersion="+now, nil)
			if err != nil {
				t.Error(err)
				return
			}
			answer, err := client.Do(request)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { answer.Body.Close() })
			if bodies[i] = answer.Body; answer.StatusCode != http.StatusOK || answer.ProtoMajor != 2 {
				t.Errorf("a watch is answered %s %s", answer.Proto, answer.Status)
			}
		})
	}
	if opening.Wait(); t.Failed() {
		return
	}
	seen := must.Get(calm.records().Watch(ctx, metav1.ListOptions{ResourceVersion: now,
		FieldSelector: "metadata.name=quietvictim-watched"}))(t)
	t.Cleanup(seen.Stop)

	big := strings.Repeat("x", 3900)
	var events atomic.Int64
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			for n := range writes {
				change := fmt.Appendf(nil, `{"spec":{"values":["%d","a%[2]s","b%[2]s","c%[2]s","d%[2]s"]}}`, n, big)
				if _, err := them.records().Patch(ctx, fmt.Sprintf("watched-%d", i), types.MergePatchType, change, metav1.PatchOptions{}); err != nil {
					t.Error(err)
					return
				}
				events.Add(1)
			}
		})
	}
	// Another tenant writes and sees the writes.
	var slowest time.Duration
	most, ended := 0, 0
	for n := 1; ended < unread || events.Load() < writers*writes; n++ {
		if n > 200 || t.Failed() {
			t.Fatalf("%d of %d unread watches were ended after %d events", ended, unread, events.Load())
		}
		began := time.Now()
		if _, err := calm.records().Patch(ctx, "quietvictim-watched", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"values":["%d"]}}`, n), metav1.PatchOptions{}); err != nil {
			t.Fatalf("another is not served, with %d of %d unread watches ended after %d events: %v", ended, unread, events.Load(), err)
		}
		for have := ""; have != fmt.Sprint(n); {
			select {
			case event := <-seen.ResultChan():
				r, ok := event.Object.(*v1alpha1.Record)
				if !ok {
					t.Fatalf("another's watch says %v", event)
				}
				have = r.Spec.Values[0]
			case <-time.After(bearable):
				t.Fatalf("another sees nothing of its write %d, with %d of %d unread watches ended after %d events", n, ended, unread, events.Load())
			}
		}
		slowest = max(slowest, time.Since(began))
		most, ended = max(most, server.measureHeap(ctx, t)-heapBefore), server.endedWatches(ctx, t)-endedBefore
	}
	all.Wait()
	t.Logf("%d unread watches were ended after %d events, the server held %d KiB more, the slowest write of another took %s", ended, events.Load(), most>>10, slowest.Round(time.Millisecond))
	if slowest > bearable {
		t.Errorf("another's write took %s", slowest)
	}
	if most > held {
		t.Errorf("the server holds %d octets for watches that nobody reads", most)
	}
	// A client reading at last gets the beginning and the end.
	var reading sync.WaitGroup
	for _, body := range bodies {
		reading.Go(func() {
			text, err := io.ReadAll(body)
			if err != nil {
				t.Errorf("an unread watch goes on: %v", err)
			}
			if got := bytes.Count(text, []byte{'\n'}); got == 0 || int64(got) >= events.Load() {
				t.Errorf("an unread watch had %d of %d events", got, events.Load())
			}
		})
	}
	reading.Wait()
}

func (t *tenant) measureHeap(ctx context.Context, test *testing.T) (octets int) {
	test.Helper()
	text := string(must.Get(t.RESTClient().Get().AbsPath("/debug/pprof/heap").Param("gc", "1").Param("debug", "1").DoRaw(ctx))(test))
	_, rest, _ := strings.Cut(text, "\n# HeapAlloc = ")
	if _, err := fmt.Sscan(rest, &octets); err != nil {
		test.Fatalf("the heap profile has no HeapAlloc: %v", err)
	}
	return octets
}

func (t *tenant) endedWatches(ctx context.Context, test *testing.T) (count int) {
	test.Helper()
	text := string(must.Get(t.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx))(test))
	_, rest, there := strings.Cut(text, `
apiserver_terminated_watchers_total{group="kubi.zone",resource="records"} `)
	if !there {
		return 0 // none so far
	}
	must.Get(fmt.Sscan(rest, &count))(test)
	return count
}
