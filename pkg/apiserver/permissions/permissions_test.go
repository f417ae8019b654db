// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"errors"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// The server needs permissions from kube-apiserver, and lists every rule that it lacks. A missing rule that is not
// optional keeps the server unready at its start, and so does a kube-apiserver that does not answer, without its
// address. A rule revoked later is only listed, because an unready server would be an outage (A7).
func TestPermissions_listWhatIsRevoked_A7(t *testing.T) {
	refused, failure := []string{}, error(nil)
	client := fake.NewClientset()
	client.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		review.Status.Allowed = !slices.Contains(refused, review.Spec.ResourceAttributes.Resource)
		return true, review, failure
	})
	p := &Checker{Needs: []Need{{"--kubeconfig", client, slices.Concat(TokenReviews, Events)}}}
	for _, test := range []struct {
		refused []string
		failure error
		ready   bool
		listed  string
	}{
		{[]string{"tokenreviews"}, nil, false, "tokenreviews"},
		{nil, errors.New("dial tcp 192.0.2.1:443: away"), false, "tokenreviews"},
		{[]string{"events"}, nil, true, "events"},
		{nil, nil, true, ""},
		{[]string{"tokenreviews"}, nil, true, "tokenreviews"},
		{nil, errors.New("away"), true, "tokenreviews"},
		{nil, nil, true, ""},
	} {
		refused, failure = test.refused, test.failure
		p.noteAnswer(p.Ask(t.Context()))
		if got := strings.Join(p.List(), "\n"); (p.Check() == nil) != test.ready || (got == "") != (test.listed == "") ||
			!strings.Contains(got, test.listed) {
			t.Errorf("%+v: ready %v, lacks %q", test, p.Check(), got)
		}
		first, step := p.FirstMissing()
		if (first == "") != test.ready || first != "" && !strings.Contains(p.Check().Error(), first) {
			t.Errorf("%+v: first %q", test, first)
		}
		if isAway := test.failure != nil; !test.ready && (strings.Contains(step, "firewalls") != isAway ||
			strings.Contains(step, "RBAC rules") == isAway) || !test.ready && strings.Contains(p.Check().Error(), "192.0.2.1") {
			t.Errorf("%+v: the step of %q is %q", test, p.Check(), step)
		}
	}
}
