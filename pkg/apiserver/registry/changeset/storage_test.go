// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package changeset

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/registry/direct"
	"kubi.zone/kubizone/test/must"
)

type servedSet struct{ Set }

func (servedSet) Require([]v1alpha1.ChangeSetPrerequisite) error { return nil }
func (servedSet) InSet(ctx context.Context) context.Context      { return ctx }
func (servedSet) Storage(int) direct.Storage                     { return nil }
func (servedSet) Deletes(int) bool                               { return true }
func (servedSet) IsUnchanged(int) bool                           { return false }
func (servedSet) Commit() []int                                  { return nil }
func (servedSet) ItemErr(int) error                              { return nil }
func (servedSet) Err() error                                     { return nil }
func (servedSet) CommittedZone() (*v1alpha1.AdoptingZone, int64) { return &v1alpha1.AdoptingZone{}, 7 }

type successes struct{ Handler }

func (successes) Admit(context.Context, *direct.Write) (int, runtime.Object) {
	return http.StatusOK, &metav1.Status{Status: metav1.StatusSuccess}
}

func (successes) EndAudit(*direct.Write, int, runtime.Object) {}

// While a namespace has as many items under way as it may, a change set of several writes, or with prerequisites, must
// wait for a slot. A single write, as in most DNS updates, needs none (S10.4, S13.9).
func TestCreate_needsNoPlaceForOneWrite_S10_4(t *testing.T) {
	r := NewREST(Config{NewSet: func(int, string, bool) Set { return servedSet{} }})
	r.SetHandler(successes{})
	ctx := genericapirequest.WithNamespace(t.Context(), "team-a")
	must.Get(r.slots.acquire(ctx, "team-a", maxItemsOfNamespace))(t)
	ended, end := context.WithCancel(ctx)
	end()
	exists := true
	for what, test := range map[string]struct {
		names    []string
		requires []v1alpha1.ChangeSetPrerequisite
		waits    bool
	}{
		"one write":               {names: []string{"a"}},
		"two writes":              {names: []string{"a", "b"}, waits: true},
		"one with a prerequisite": {[]string{"a"}, []v1alpha1.ChangeSetPrerequisite{{Name: "a.example.org.", Exists: &exists}}, true},
	} {
		set := &v1alpha1.ChangeSet{Spec: v1alpha1.ChangeSetSpec{Prerequisites: test.requires}}
		for _, name := range test.names {
			set.Spec.Items = append(set.Spec.Items, v1alpha1.ChangeSetItem{Delete: &v1alpha1.ChangeSetDelete{Name: name}})
		}
		within := ctx
		if test.waits {
			within = ended
		}
		_, err := r.Create(within, set, nil, &metav1.CreateOptions{})
		if test.waits != apierrors.IsTooManyRequests(err) || !test.waits && err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// The items of a change set are audited with the address and audit ID of the request. WithRequest therefore keeps the
// request in the context of each resource that becomes a change set, and of no other (S10.3).
func TestWithRequest_keepsWhatBecomesASet_S10_3(t *testing.T) {
	for what, test := range map[string]struct {
		info genericapirequest.RequestInfo
		kept bool
	}{
		"a change set": {genericapirequest.RequestInfo{APIGroup: "kubi.zone", Resource: "changesets"}, true},
		"an update":    {genericapirequest.RequestInfo{APIGroup: "kubi.zone", Resource: "updatekeys", Subresource: "update"}, true},
		"a challenge":  {genericapirequest.RequestInfo{APIGroup: "acme.kubi.zone", Resource: "kubizone"}, true},
		"a record":     {genericapirequest.RequestInfo{APIGroup: "kubi.zone", Resource: "records"}, false},
	} {
		request := httptest.NewRequest(http.MethodPost, "/", nil)
		request = request.WithContext(genericapirequest.WithRequestInfo(request.Context(), &test.info))
		WithRequest(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if kept := sentBy(r.Context()) != nil; kept != test.kept {
				t.Errorf("%s: kept %t", what, kept)
			}
		})).ServeHTTP(httptest.NewRecorder(), request)
	}
}
