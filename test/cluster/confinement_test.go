// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kubi.zone/kubizone/test/metrics"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig/kuberig"
)

var (
	zones   = schema.GroupVersionResource{Group: "kubi.zone", Version: "v1alpha1", Resource: "zones"}
	records = schema.GroupVersionResource{Group: "kubi.zone", Version: "v1alpha1", Resource: "records"}
)

func zoneObject(namespace, name, domain string, delegations ...any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kubi.zone/v1alpha1", "kind": "Zone", "metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{
			"domainName": domain, "delegations": delegations,
			"nameServers": []any{map[string]any{"name": "ns1", "addresses": []any{"192.0.2.53"}}},
		},
	}}
}

func everyName(namespace string) any {
	return map[string]any{"namespace": namespace, "records": []any{map[string]any{"pattern": "*"}}}
}

func recordObject(namespace, name, domain string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kubi.zone/v1alpha1", "kind": "Record", "metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{"domainName": domain, "type": "A", "rdata": "192.0.2.1"},
	}}
}

// neighbours are two tenants with a zone and three records each. No other tenant may read the victim's names.
type neighbours struct {
	kubeconfig string // of the curious tenant
	own        string // namespace
	secret     string // part of every name of the victim
}

func (c *cluster) makeNeighbours(ctx context.Context, t *testing.T, own, secret string) neighbours {
	t.Helper()
	n := neighbours{own: own, secret: secret}
	for _, namespace := range []string{own, secret} {
		kubeconfig := must.Get(c.makeTenant(ctx, namespace, namespace+"-user", namespace+".example."))(t)
		_, objects := makeClients(t, must.Get(kuberig.ClientConfig(kubeconfig))(t))
		must.Get(objects.Resource(zones).Namespace(namespace).Create(ctx, zoneObject(namespace, namespace+"-zone", namespace+".example.",
			everyName(namespace)), metav1.CreateOptions{}))(t)
		for i := range 3 {
			name := fmt.Sprintf("%s-%d", namespace, i)
			must.Get(objects.Resource(records).Namespace(namespace).Create(ctx, recordObject(namespace, name,
				name+"."+namespace+".example."), metav1.CreateOptions{}))(t)
		}
		if namespace == own {
			n.kubeconfig = kubeconfig
		}
	}
	return n
}

// Foreign or forged continue tokens, selectors, resource versions and sendInitialEvents give a tenant only its own
// objects. An invalid token is 400 or 410 (attack 47).
func TestConfinement_listsAndWatchesShowOnesOwn(t *testing.T) {
	c := requireCluster(t)
	ctx := within(t, waitTimeout)
	n := c.makeNeighbours(ctx, t, "curious", "victim")
	_, all := makeClients(t, c.kube.Admin())
	var tokens []string
	for _, namespace := range []string{"", n.secret} {
		page, err := all.Resource(records).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil || page.GetContinue() == "" {
			t.Fatalf("a page of namespace %q: %q, %v", namespace, page.GetContinue(), err)
		}
		tokens = append(tokens, page.GetContinue())
	}
	_, objects := makeClients(t, must.Get(kuberig.ClientConfig(n.kubeconfig))(t))
	own := objects.Resource(records).Namespace(n.own)
	page, err := own.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil || page.GetContinue() == "" {
		t.Fatalf("a page of one's own: %v", err)
	}
	for start, rv := range map[string]int64{
		"../" + n.secret + "/":                    1,
		"../" + n.secret + "/" + n.secret + "-0":  -1,
		"/../" + n.secret + "/":                   -1,
		"..\x00":                                  -1,
		n.secret + "-0\x00":                       1 << 62,
		"../../../kubizone/":                      -1,
		n.own + "-0/../../" + n.secret + "/a\x00": -1,
	} {
		text, _ := json.Marshal(map[string]any{"v": "meta.k8s.io/v1", "rv": rv, "start": start})
		tokens = append(tokens, base64.RawURLEncoding.EncodeToString(text))
	}
	mine := page.GetContinue()
	tokens = append(tokens, "x", mine[:len(mine)/2], mine+"x", strings.ToUpper(mine), base64.RawURLEncoding.EncodeToString([]byte(`{}`)))
	config := must.Get(kuberig.ClientConfig(n.kubeconfig))(t)
	client := httpClient(t, config)
	for _, token := range tokens {
		// client-go would retry forever for a revision that does not exist yet.
		response, err := client.Get(config.Host + "/apis/kubi.zone/v1alpha1/namespaces/" + n.own + "/records?limit=10&continue=" + url.QueryEscape(token))
		if err != nil {
			t.Fatal(err)
		}
		var list struct {
			Message string
			Items   []metav1.PartialObjectMetadata
		}
		if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
			t.Errorf("continue=%s: %v", token, err)
		}
		response.Body.Close()
		switch response.StatusCode {
		case http.StatusOK, http.StatusBadRequest, http.StatusGone:
		case http.StatusGatewayTimeout:
			if !strings.Contains(list.Message, "Too large resource version") {
				t.Errorf("continue=%s: %s", token, list.Message)
			}
		default:
			t.Errorf("continue=%s: %s %s; want 400 or 410", token, response.Status, list.Message)
		}
		for _, item := range list.Items {
			if item.Namespace != n.own {
				t.Errorf("continue=%s shows %s/%s", token, item.Namespace, item.Name)
			}
		}
	}
	for _, options := range []metav1.ListOptions{
		{FieldSelector: "metadata.namespace=" + n.secret},
		{FieldSelector: "metadata.namespace!=" + n.own},
		{FieldSelector: "status.zone=" + n.secret + "/" + n.secret + "-zone"},
		{FieldSelector: "status.fqdn=" + n.secret + "-0." + n.secret + ".example."},
		{LabelSelector: "kubi.zone/parent-zone=" + n.secret + "-zone." + n.secret},
		{LabelSelector: "kubi.zone/parent-zone"},
		{ResourceVersion: "0"},
		{ResourceVersion: "1", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
		{ResourceVersion: "1", ResourceVersionMatch: metav1.ResourceVersionMatchExact},
	} {
		list, err := own.List(ctx, options)
		if err != nil {
			continue
		}
		for _, item := range list.Items {
			if item.GetNamespace() != n.own {
				t.Errorf("%+v shows %s/%s", options, item.GetNamespace(), item.GetName())
			}
		}
	}
	yes := true
	watched, err := own.Watch(ctx, metav1.ListOptions{SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true})
	if err != nil {
		t.Fatal(err)
	}
	defer watched.Stop()
	initial := 0
	for done := false; !done; {
		select {
		case event, open := <-watched.ResultChan():
			object, ok := event.Object.(*unstructured.Unstructured)
			if !open || !ok {
				t.Fatalf("watch: %v %v", event.Type, event.Object)
			}
			switch {
			case event.Type == "BOOKMARK":
				done = object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
			case object.GetNamespace() != n.own:
				t.Errorf("the watch shows %s/%s", object.GetNamespace(), object.GetName())
			default:
				initial++
			}
		case <-ctx.Done():
			t.Fatal("the watch does not come to the end of its initial events")
		}
	}
	if initial != 3 {
		t.Errorf("the watch shows %d objects at its beginning, want 3", initial)
	}
	for _, namespace := range []string{"", n.secret} {
		if _, err := objects.Resource(records).Namespace(namespace).Watch(ctx, metav1.ListOptions{SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true}); !apierrors.IsForbidden(err) {
			t.Errorf("a watch of namespace %q: %v", namespace, err)
		}
	}
}

// Answers to a tenant whose objects collide with another tenant's, metrics and Events contain none of the other's
// names (S1.8, attack 48).
func TestConfinement_nobodyReadsForeignNames(t *testing.T) {
	c := requireCluster(t)
	ctx := within(t, waitTimeout)
	n := c.makeNeighbours(ctx, t, "asker", "hushed")
	_, all := makeClients(t, c.kube.Admin())
	// A third tenant's zone, open to both, where the victim was first.
	must.Succeed(t, c.kube.Namespace(ctx, "commons"))
	commons := zoneObject("commons", "commons", "commons.example.", map[string]any{"records": []any{map[string]any{"pattern": "*"}}, "zones": []any{"*"}})
	must.Get(all.Resource(zones).Namespace("commons").Create(ctx, commons, metav1.CreateOptions{}))(t)
	for _, object := range []*unstructured.Unstructured{
		recordObject(n.secret, n.secret+"-first", "first.commons.example."),
		recordObject(n.secret, n.secret+"-below", "a.taken.commons.example."),
	} {
		must.Get(all.Resource(records).Namespace(n.secret).Create(ctx, object, metav1.CreateOptions{}))(t)
	}
	_, own := makeClients(t, must.Get(kuberig.ClientConfig(n.kubeconfig))(t))
	cname := recordObject(n.own, "alias", "first.commons.example.")
	_ = unstructured.SetNestedField(cname.Object, "CNAME", "spec", "type")
	_ = unstructured.SetNestedField(cname.Object, "x", "spec", "rdata")
	cut := recordObject(n.own, "cut", "taken.commons.example.")
	_ = unstructured.SetNestedField(cut.Object, "NS", "spec", "type")
	_ = unstructured.SetNestedField(cut.Object, "ns.example.net.", "spec", "rdata")
	pinned := recordObject(n.own, "pinned", "www")
	_ = unstructured.SetNestedField(pinned.Object, map[string]any{"namespace": n.secret, "name": n.secret + "-zone"}, "spec", "zoneRef")
	for what, err := range map[string]error{
		"a name that is held": errorOf(own.Resource(records).Namespace(n.own).Create(ctx,
			recordObject(n.own, "second", "first.commons.example."), metav1.CreateOptions{})),
		"a CNAME beside theirs": errorOf(own.Resource(records).Namespace(n.own).Create(ctx, cname, metav1.CreateOptions{})),
		"a cut above theirs":    errorOf(own.Resource(records).Namespace(n.own).Create(ctx, cut, metav1.CreateOptions{})),
		"a zone above theirs": errorOf(own.Resource(zones).Namespace(n.own).Create(ctx,
			zoneObject(n.own, "above", "taken.commons.example."), metav1.CreateOptions{})),
		"reading by name": errorOf(own.Resource(records).Namespace(n.secret).Get(ctx, "guess", metav1.GetOptions{})),
		"a dry run of a held name": errorOf(own.Resource(records).Namespace(n.own).Create(ctx,
			recordObject(n.own, "second", "first.commons.example."), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})),
	} {
		if err == nil {
			t.Errorf("%s passes", what)
			continue
		}
		// The request names the namespace, so the answer may too.
		message := strings.ReplaceAll(err.Error(), `in the namespace "`+n.secret+`"`, "")
		if strings.Contains(message, n.secret) || strings.Contains(message, "192.0.2.") {
			t.Errorf("%s: %v", what, err)
		}
	}
	// A zoneRef to another tenant's zone gets the same answer as a zoneRef to a missing zone, except for the name in
	// the request.
	absent := pinned.DeepCopy()
	absent.SetName("absent")
	_ = unstructured.SetNestedField(absent.Object, n.secret+"-none", "spec", "zoneRef", "name")
	var answers []string
	for _, one := range []*unstructured.Unstructured{pinned, absent} {
		made, err := own.Resource(records).Namespace(n.own).Create(ctx, one, metav1.CreateOptions{})
		if err != nil {
			t.Fatalf("a zoneRef to a zone of theirs: %v", err)
		}
		status, _, _ := unstructured.NestedMap(made.Object, "status")
		text := strings.NewReplacer(n.secret+"-zone", "ZONE", n.secret+"-none", "ZONE").Replace(string(must.Get(json.Marshal(status))(t)))
		answers = append(answers, regexp.MustCompile(`"lastTransitionTime":"[^"]*"`).ReplaceAllString(text, ""))
	}
	if answers[0] != answers[1] {
		t.Errorf("a zoneRef to a zone of theirs:\n%s\nand to none:\n%s", answers[0], answers[1])
	}

	served := c.readMetrics(t)
	for _, wrong := range metrics.Check("apiserver", served) {
		t.Error(wrong)
	}
	for line := range strings.Lines(served) {
		if strings.HasPrefix(line, "kubizone_namespace_") {
			continue // names the largest namespaces on purpose (S9.1)
		}
		if strings.Contains(line, n.secret) || strings.Contains(line, n.own) || strings.Contains(line, "commons") {
			t.Errorf("metrics name tenants: %s", line)
		}
	}
	if !strings.Contains(served, `apiserver_request_total{`) {
		t.Error("metrics count no request: the search above proves nothing")
	}
	typed, _ := makeClients(t, c.kube.Admin())
	events := must.Get(typed.CoreV1().Events("").List(ctx, metav1.ListOptions{}))(t)
	for _, event := range events.Items {
		if event.Namespace != n.secret && (strings.Contains(event.Message, n.secret) || strings.Contains(event.InvolvedObject.Name, n.secret)) {
			t.Errorf("an event in %s says %s of %s", event.Namespace, event.Message, event.InvolvedObject.Name)
		}
	}
}

func errorOf[T any](_ T, err error) error { return err }

// A user without the right to read a namespace gets the same refusal for an existing and a missing object, so that the
// refusal does not tell whether the object exists (attack 48).
func TestConfinement_refusalsRevealNothing(t *testing.T) {
	c := requireCluster(t)
	ctx := within(t, waitTimeout)
	n := c.makeNeighbours(ctx, t, "prober", "quiet")
	config := must.Get(kuberig.ClientConfig(n.kubeconfig))(t)
	client := httpClient(t, config)
	ask := func(path string) (int, string) {
		request := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, config.Host+path, nil))(t)
		response := must.Get(client.Do(request))(t)
		defer response.Body.Close()
		var status metav1.Status
		must.Succeed(t, json.NewDecoder(response.Body).Decode(&status))
		return response.StatusCode, status.Message
	}
	for _, path := range []string{
		"/apis/kubi.zone/v1alpha1/namespaces/%[1]s/records/%[2]s",
		"/apis/kubi.zone/v1alpha1/namespaces/%[1]s/zones/%[2]s",
		"/apis/kubi.zone/v1alpha1/namespaces/%[1]s/zones/%[2]s/entries",
		"/apis/kubi.zone/v1alpha1/namespaces/%[1]s/zones/%[2]s/changes?since=1",
	} {
		code, there := ask(fmt.Sprintf(path, n.secret, n.secret+"-zone"))
		other, absent := ask(fmt.Sprintf(path, "absent", "absent"))
		there = strings.NewReplacer(n.secret+"-zone", "NAME", n.secret, "NS").Replace(there)
		absent = strings.NewReplacer(`"absent" is`, `"NAME" is`, "absent", "NS").Replace(absent)
		if code != http.StatusForbidden || other != code || there != absent {
			t.Errorf("%s: %d %q where it is there, %d %q where it is not", path, code, there, other, absent)
		}
	}
}
