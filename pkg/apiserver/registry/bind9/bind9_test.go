// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package bind9

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

func newCluster() *bind9.Bind9Cluster {
	return &bind9.Bind9Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "edge", Namespace: "dns", Generation: 3, Labels: map[string]string{"a": "b"}},
		Spec:       bind9.Bind9ClusterSpec{Secondary: &bind9.RoleSettings{Replicas: 2}},
		Status: bind9.Bind9ClusterStatus{ObservedGeneration: 3, Secondaries: bind9.ServerCount{Desired: 2, Current: 2, Ready: 1},
			Conditions: []metav1.Condition{{Type: "Ready", Status: "False", Reason: "PartiallyReady", Message: "1 of 2"}}},
	}
}

// Users write spec and controllers write status: a write of either resets the other, and only a change of spec raises
// metadata.generation (promise 1, S11.8).
func TestStrategy_prepare_S11_8(t *testing.T) {
	spec := kind.Strategy[*bind9.Bind9Cluster]{Kind: newClusters(validation.FleetRules{})}
	stat := spec.Sub("status")
	created := newCluster()
	spec.PrepareForCreate(t.Context(), created)
	if !reflect.DeepEqual(created.Status, bind9.Bind9ClusterStatus{Conditions: kind.InitialConditions(created)}) ||
		created.Generation != 1 {
		t.Errorf("created %+v", created)
	}
	before, after := newCluster(), newCluster()
	after.Status, after.Generation, after.Labels = bind9.Bind9ClusterStatus{}, 9, nil
	spec.PrepareForUpdate(t.Context(), after, before)
	if !equality.Semantic.DeepEqual(after.Status, before.Status) || after.Generation != 3 || after.Labels != nil || kind.SpecChanged(after, before) {
		t.Errorf("updated %+v", after)
	}
	after.Spec.Secondary.Replicas = 5
	spec.PrepareForUpdate(t.Context(), after, before)
	if after.Generation != 4 || before.Spec.Secondary.Replicas != 2 {
		t.Errorf("spec changed: generation %d, before %+v", after.Generation, before.Spec)
	}
	written := newCluster()
	written.Spec, written.Labels, written.Finalizers = bind9.Bind9ClusterSpec{}, nil, []string{"f"}
	written.Status = bind9.Bind9ClusterStatus{ObservedGeneration: 4}
	stat.PrepareForUpdate(t.Context(), written, before)
	if written.Spec.Secondary == nil || written.Labels["a"] != "b" || written.Finalizers != nil || !reflect.DeepEqual(written.Status, bind9.Bind9ClusterStatus{ObservedGeneration: 4}) {
		t.Errorf("status written: %+v", written)
	}
}

type asked struct {
	allowed map[string]bool
	seen    []string
	broken  error
}

func (a *asked) Authorize(_ context.Context, of authorizer.Attributes) (authorizer.Decision, string, error) {
	what := of.GetNamespace() + "/" + of.GetResource()
	if of.GetSubresource() != "" {
		what += "/" + of.GetSubresource()
	}
	if of.GetVerb() != "create" || !of.IsResourceRequest() || of.GetUser().GetName() != "mallory" {
		return authorizer.DecisionDeny, "", errors.New("asked for something else")
	}
	a.seen = append(a.seen, what)
	if a.allowed[what] {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", a.broken
}

// reviewOf returns the checks of a creation, and of an update to a generation.
func reviewOf(object kind.Object, by *asked) (create func(context.Context) error, update func(context.Context, int64) error) {
	switch object := object.(type) {
	case *bind9.ClusterBind9Provider:
		return checksOf(newProviders(validation.FleetRules{}), object, by)
	case *bind9.Bind9Cluster:
		return checksOf(newClusters(validation.FleetRules{}), object, by)
	}
	return checksOf(newInstances(validation.FleetRules{}), object.(*bind9.Bind9Instance), by)
}

func checksOf[T kind.Object](of *kind.Kind[T], object T, by *asked) (create func(context.Context) error,
	update func(context.Context, int64) error) {
	check := completeKind(of, Config{Authorizer: by}).Check
	created := object.DeepCopyObject().(T)
	created.SetGeneration(1)
	create = func(ctx context.Context) error { return check(ctx, created, of.New()) }
	return create, func(ctx context.Context, generation int64) error {
		after := object.DeepCopyObject().(T)
		after.SetGeneration(generation)
		return check(ctx, after, object)
	}
}

// The fleet creates Deployments and Services for an object, so the author of its spec needs the right to create them:
// in the object's namespace, for a provider in all, and for an external server the right external instead. An update
// without a change of spec asks for nothing (S11.6).
func TestReview_asksTheAuthorsRights_S11_6(t *testing.T) {
	provider := &bind9.ClusterBind9Provider{ObjectMeta: metav1.ObjectMeta{Name: "edge"}}
	here := &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "dns"}}
	outside := &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Name: "two", Namespace: "dns"}, Spec: bind9.Bind9InstanceSpec{External: &bind9.ExternalServer{}}}
	for _, test := range []struct {
		object  kind.Object
		allowed []string
		missing string // empty: passes
	}{
		{newCluster(), []string{"dns/deployments", "dns/services"}, ""},
		{newCluster(), []string{"dns/deployments"}, "create services in namespace dns"},
		{newCluster(), []string{"dns/services", "other/deployments", "dns/pods"}, "create deployments.apps in namespace dns"},
		{newCluster(), nil, "create deployments.apps in namespace dns"},
		{provider, []string{"/deployments", "/services"}, ""},
		{provider, []string{"dns/deployments", "dns/services"}, "create deployments.apps in every namespace"},
		{here, []string{"dns/deployments", "dns/services"}, ""},
		{here, []string{"dns/bind9instances/external"}, "create deployments.apps in namespace dns"},
		{outside, []string{"dns/bind9instances/external"}, ""},
		{outside, []string{"dns/deployments", "dns/services", "dns/bind9instances"}, "create bind9instances.bind9.kubi.zone/external in namespace dns"},
	} {
		by := &asked{allowed: map[string]bool{}}
		for _, what := range test.allowed {
			by.allowed[what] = true
		}
		ctx := genericapirequest.WithUser(t.Context(), &user.DefaultInfo{Name: "mallory"})
		create, update := reviewOf(test.object, by)
		err := create(ctx)
		if test.missing == "" && err != nil || test.missing != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), test.missing)) {
			t.Errorf("%T with %q: %v, want %q", test.object, test.allowed, err, test.missing)
		}
		// An update without a change of spec asks for nothing, any other like a creation.
		by.seen = nil
		if err := update(ctx, test.object.GetGeneration()); err != nil || len(by.seen) > 0 {
			t.Errorf("%T unchanged: %v, asked %q", test.object, err, by.seen)
		}
		if again := update(ctx, 77); (again == nil) != (err == nil) {
			t.Errorf("%T changed: %v, and created: %v", test.object, again, err)
		}
		by.broken = errors.New("no kube-apiserver")
		if err := create(ctx); test.missing != "" && !apierrors.IsInternalError(err) {
			t.Errorf("an authorizer that does not answer: %v", err)
		}
	}
}

func TestRows(t *testing.T) {
	want := []any{"edge", "<none>", "0/0", "1/2", "False", "<unknown>", "PartiallyReady: 1 of 2"}
	if got := rowOfCluster(newCluster()); !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	instance := &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: bind9.Bind9InstanceSpec{Role: "Primary", External: &bind9.ExternalServer{Address: "192.0.2.1"}},
		Status: bind9.Bind9InstanceStatus{Conditions: []metav1.Condition{{Type: "ConfigValid", Status: "False", Reason: "Refused"}}}}
	want = []any{"one", "<none>", "Primary", "Unknown", "<unknown>", "192.0.2.1", "Refused"}
	if got := rowOfInstance(instance); !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	provider := &bind9.ClusterBind9Provider{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: bind9.ClusterBind9ProviderStatus{
		Clusters: []bind9.ProvidedCluster{{Namespace: "a", Ready: true}, {Namespace: "b"}}, Servers: bind9.ServerCount{Desired: 4, Ready: 3}}}
	want = []any{"p", "1/2", "3/4", "Unknown", "<unknown>", "dns-system", "<none>"}
	if got := rowOfProvider(provider); !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	provider.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"dns": "yes"}}
	if got := rowOfProvider(provider)[5]; got != "dns=yes" {
		t.Errorf("%q", got)
	}
}
