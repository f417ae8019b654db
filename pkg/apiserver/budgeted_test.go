// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/budget"
	"kubi.zone/kubizone/test/must"
)

// Two namespaces may write in the zone.
func startBoundedServer(t *testing.T, options budget.Limits) typed.KubizoneV1alpha1Interface {
	t.Helper()
	api := startWholeServer(t, func(c *Config) { c.Budgets = &options })
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "shared"}, Spec: v1alpha1.ZoneSpec{DomainName: "example.org.", Delegations: []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}}}}
	must.Get(api.Zones("platform").Create(t.Context(), zone, metav1.CreateOptions{}))(t)
	return api
}

func makeLongRecord(name string, octets int) *v1alpha1.Record {
	record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RecordSpec{DomainName: name + ".example.org.", Type: "TXT"}}
	for i := range octets / 4000 {
		record.Spec.Values = append(record.Spec.Values, strings.Repeat("x", 3900)+fmt.Sprint(i))
	}
	return record
}

// S9.1, S9.3: the budget bounds growth. A deletion, a shrink, a status write and other namespaces pass; a dry run is
// judged like the write.
func TestBudgets_stored_S9_1(t *testing.T) {
	api := startBoundedServer(t, budget.Limits{Stored: budget.Stock{Octets: 512 << 10}})
	ctx, dry := t.Context(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	team := api.Records("team")
	full := func(what string, err error) {
		t.Helper()
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "the limit is 512.0 KiB") || !strings.Contains(err.Error(), "kubi.zone/budget") {
			t.Errorf("%s: %v", what, err)
		}
	}
	var err error
	n := 0
	for ; err == nil && n < 100; n++ {
		_, err = team.Create(ctx, makeLongRecord(fmt.Sprintf("r%d", n), 40<<10), metav1.CreateOptions{})
	}
	if full("records", err); n < 10 { // the watch counts with a delay: some more may pass
		t.Errorf("%d of 40 KiB in 512 KiB", n)
	}
	_, err = team.Create(ctx, makeLongRecord("dry", 40<<10), dry)
	full("a dry run", err)
	_, err = team.Patch(ctx, "r0", types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"`+strings.Repeat("x", 38<<10)+`"}}}`), metav1.PatchOptions{})
	full("an annotation", err)
	_, err = team.Patch(ctx, "r0", types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"`+strings.Repeat("x", 38<<10)+`"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	full("an annotation in a dry run", err)
	_, err = team.Patch(ctx, "r0", types.ApplyPatchType, fmt.Appendf(nil, `{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":"r0","labels":{%q:"x"}},"spec":{}}`, strings.Repeat("l", 63)), metav1.PatchOptions{FieldManager: strings.Repeat("m", 120)})
	if err != nil && !apierrors.IsForbidden(err) { // some hundred octets may or may not fit
		t.Errorf("another manager: %v", err)
	}
	if _, err := api.Records("others").Create(ctx, makeLongRecord("theirs", 40<<10), metav1.CreateOptions{}); err != nil {
		t.Errorf("another namespace: %v", err)
	}
	if _, err := team.Patch(ctx, "r0", types.MergePatchType, []byte(`{"status":{"conditions":[{"type":"Ready","status":"False","reason":"R","message":"`+strings.Repeat("m", 1000)+`","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Errorf("a status: %v", err)
	}
	if _, err := team.Patch(ctx, "r1", types.MergePatchType, []byte(`{"spec":{"values":["short"]},"metadata":{"finalizers":["example.org/held"]}}`), metav1.PatchOptions{}); err != nil {
		t.Errorf("shrinks: %v", err)
	}
	for i := 1; i < n-8; i++ {
		if err := team.Delete(ctx, fmt.Sprintf("r%d", i), metav1.DeleteOptions{}); err != nil {
			t.Errorf("delete r%d: %v", i, err)
		}
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err = team.Create(ctx, makeLongRecord("again", 60<<10), metav1.CreateOptions{}); err == nil || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		t.Errorf("after deletions: %v", err)
	}
}

// S9.3: a zone is delivered however full or fast its namespace: its delivery finalizer passes. A finalizer in a write
// of the Zone itself does not.
func TestBudgets_finalizersPass_S9_3(t *testing.T) {
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "own"}, Spec: v1alpha1.ZoneSpec{DomainName: "team.example.", Delegations: []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}}}}
	for name, options := range map[string]budget.Limits{
		"full": {Stored: budget.Stock{Octets: 512 << 10}},
		"fast": {Written: 1 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			api := startBoundedServer(t, options)
			ctx := t.Context()
			zones := api.Zones("team")
			must.Get(zones.Create(ctx, zone.DeepCopy(), metav1.CreateOptions{}))(t)
			var err error
			for i := 0; err == nil && i < 100; i++ {
				err = api.RESTClient().Post().Namespace("team").Resource("records").Body(makeLongRecord(fmt.Sprintf("r%d", i),
					40<<10)).MaxRetries(0).Do(ctx).Error()
			}
			if err == nil {
				t.Fatal("never full")
			}
			patch := func(body string, subresource ...string) error {
				return api.RESTClient().Patch(types.MergePatchType).Namespace("team").Resource("zones").Name("own").SubResource(subresource...).Body([]byte(body)).MaxRetries(0).Do(ctx).Error()
			}
			for octets, step := 0, 8000; step > 0; {
				if patch(`{"metadata":{"annotations":{"a":"`+strings.Repeat("x", octets+step)+`"}}}`) == nil {
					octets += step
				} else {
					step /= 10
				}
			}
			many := make([]string, 6)
			for i := range many {
				many[i] = fmt.Sprintf(`"a%d.example.org/%s"`, i, strings.Repeat("f", 63))
			}
			if err := patch(`{"metadata":{"finalizers":[` + strings.Join(many, ",") + `]}}`); !apierrors.IsForbidden(err) && !apierrors.IsTooManyRequests(err) {
				t.Fatalf("finalizers in a write of the Zone: %v", err)
			}
			if err := patch(`{"metadata":{"finalizers":["kubi.zone/delivery"]}}`, "finalizers"); err != nil {
				t.Errorf("the finalizer of delivery: %v", err)
			}
			if err := patch(`{"status":{"dnssec":{"fqdn":"team.example.","ds":[{"keyTag":1,"algorithm":13,"digestType":1,"digest":"0123456789abcdef0123456789abcdef01234567"}]}}}`, "dnssec"); err != nil {
				t.Errorf("S9.3, S12.2: the DS of a signed zone: %v", err)
			}
			if held, err := zones.Get(ctx, "own", metav1.GetOptions{}); err != nil || len(held.Finalizers) != 1 {
				t.Errorf("%v, %q", err, held.Finalizers)
			}
			if err := patch(`{"metadata":{"finalizers":null}}`, "finalizers"); err != nil {
				t.Errorf("let go: %v", err)
			}
		})
	}
}

// S9.2, S9.3: endless writes get 429 with Retry-After, except deletions, no-ops and shrinks by a quarter.
func TestBudgets_written_S9_2(t *testing.T) {
	api := startBoundedServer(t, budget.Limits{Written: 1 << 10})
	ctx := t.Context()
	for _, name := range []string{"a", "b"} {
		record := makeLongRecord(name, 4000)
		record.Annotations = map[string]string{"pad": strings.Repeat("x", 100)}
		must.Get(api.Records("team").Create(ctx, record, metav1.CreateOptions{}))(t)
	}
	patch := func(namespace, body string, query ...string) error {
		r := api.RESTClient().Patch(types.MergePatchType).Namespace(namespace).Resource("records").Name("a").Body([]byte(body)).MaxRetries(0)
		for _, q := range query {
			r = r.Param(q, "All")
		}
		return r.Do(ctx).Error()
	}
	var err error
	for i := 0; err == nil && i < 200; i++ {
		err = patch("team", fmt.Sprintf(`{"spec":{"ttl":%d}}`, i%2+300))
	}
	status, _ := err.(apierrors.APIStatus)
	if !apierrors.IsTooManyRequests(err) || status.Status().Code != http.StatusTooManyRequests || status.Status().Details.RetryAfterSeconds < 1 || !strings.Contains(err.Error(), "1.0 KiB a second") {
		t.Fatalf("%v", err)
	}
	ask := func(spec v1alpha1.NameReviewSpec) error { // S14.1
		return api.RESTClient().Post().Namespace("team").Resource("namereviews").Body(&v1alpha1.NameReview{Spec: spec}).
			MaxRetries(0).Do(ctx).Error()
	}
	for what, err := range map[string]error{
		"a question":        ask(v1alpha1.NameReviewSpec{Name: "new.example.org", Type: "A"}),
		"rules":             ask(v1alpha1.NameReviewSpec{}),
		"metadata":          patch("team", `{"metadata":{"labels":{"a":"b"}}}`),
		"a few octets less": patch("team", `{"metadata":{"annotations":{"pad":"x"}}}`),
		"a dry run":         patch("team", `{"spec":{"ttl":305}}`, "dryRun"),
		"a create": api.RESTClient().Post().Namespace("team").Resource("records").Body(makeLongRecord("c", 4000)).MaxRetries(0).Do(
			ctx).Error(),
		"a status": api.RESTClient().Patch(types.MergePatchType).Namespace("team").Resource("records").Name("a").SubResource("status").Body(
			[]byte(`{"status":{"conditions":[{"type":"Mine","status":"True","reason":"Mine","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)).MaxRetries(0).Do(ctx).Error(),
	} {
		if !apierrors.IsTooManyRequests(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := patch("team", `{"spec":{"type":"TXT"}}`); err != nil {
		t.Errorf("nothing is changed: %v", err)
	}
	if _, err := api.Records("others").Create(ctx, makeLongRecord("theirs", 4000), metav1.CreateOptions{}); err != nil {
		t.Errorf("another namespace: %v", err)
	}
	if _, err := api.NameReviews("others").Create(ctx, &v1alpha1.NameReview{}, metav1.CreateOptions{}); err != nil {
		t.Errorf("a question of another namespace: %v", err)
	}
	if err := patch("team", `{"spec":{"values":["short"]}}`); err != nil {
		t.Errorf("much less: %v", err)
	}
	if err := api.Records("team").Delete(ctx, "b", metav1.DeleteOptions{}); err != nil {
		t.Errorf("a deletion: %v", err)
	}
}
