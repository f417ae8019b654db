// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes/scheme"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/test/must"
)

// cluster answers SubjectAccessReviews over HTTP and records them.
type cluster struct {
	*httptest.Server
	answer func(*authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus

	mu sync.Mutex
	// fail replaces answer unless it is nil.
	fail  http.HandlerFunc
	asked []authorizationv1.SubjectAccessReviewSpec
}

func newCluster(t testing.TB, answer func(*authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus) *cluster {
	c := &cluster{answer: answer}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review := &authorizationv1.SubjectAccessReview{}
	if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	c.asked = append(c.asked, review.Spec)
	fail := c.fail
	c.mu.Unlock()
	if fail != nil {
		fail(w, r)
		return
	}
	review.Status = c.answer(&review.Spec)
	review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SubjectAccessReview"
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	json.NewEncoder(w).Encode(review)
}

// listNames returns the names of the recorded reviews; "" for none.
func (c *cluster) listNames() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, spec := range c.asked {
		if spec.ResourceAttributes == nil {
			out = append(out, spec.NonResourceAttributes.Path)
			continue
		}
		out = append(out, spec.ResourceAttributes.Name)
	}
	return out
}

func (c *cluster) makeConfig(t testing.TB) Config {
	t.Helper()
	client := must.Get(authorizationclient.NewForConfig(&rest.Config{Host: c.URL, QPS: -1, Timeout: 10 * time.Second}))(t)
	return Config{
		Client: client, AllowCacheTTL: time.Hour, DenyCacheTTL: time.Hour, RetryBackoff: wait.Backoff{Steps: 1},
		AlwaysAllowGroups: []string{user.SystemPrivilegedGroup}, AlwaysAllowPaths: []string{"/healthz", "/livez", "/readyz"},
	}
}

func openAuthorizer(t testing.TB, config Config) authorizer.Authorizer {
	t.Helper()
	return must.Get(New(config))(t)
}

type rule struct {
	namespace, verb, resource string
	names                     []string
}

// evaluateRules decides like plugin/pkg/auth/authorizer/rbac of Kubernetes: a rule with resource names allows no
// request without a name.
func evaluateRules(rules ...rule) func(*authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
	return func(spec *authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
		a := spec.ResourceAttributes
		if a == nil || spec.User != "alice" {
			return authorizationv1.SubjectAccessReviewStatus{}
		}
		resource := a.Resource
		if a.Subresource != "" {
			resource += "/" + a.Subresource
		}
		allowed := a.Group == "kubi.zone" && slices.ContainsFunc(rules, func(r rule) bool {
			return r.namespace == a.Namespace && r.verb == a.Verb && r.resource == resource && (len(r.names) == 0 || slices.Contains(r.names, a.Name))
		})
		return authorizationv1.SubjectAccessReviewStatus{Allowed: allowed}
	}
}

func makeRequest(verb, resource, subresource, name string) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: "alice", Groups: []string{"tenants", user.AllAuthenticated}},
		Verb: verb, Namespace: "team-a", APIGroup: "kubi.zone", APIVersion: "v1alpha1", Resource: resource, Subresource: subresource, Name: name,
		ResourceRequest: true, Path: "/apis/kubi.zone/v1alpha1/namespaces/team-a/" + resource + "/" + name,
	}
}

func TestAuthorize_differentNamesAreOneReview(t *testing.T) {
	c := newCluster(t, evaluateRules(rule{namespace: "team-a", verb: "delete", resource: "records"}))
	a := openAuthorizer(t, c.makeConfig(t))
	for i := range 300 {
		decision, _, err := a.Authorize(t.Context(), makeRequest("delete", "records", "", fmt.Sprintf("www-%d", i)))
		if decision != authorizer.DecisionAllow || err != nil {
			t.Fatalf("name %d: %v, %v; want Allow", i, decision, err)
		}
	}
	if got := c.listNames(); !slices.Equal(got, []string{""}) {
		t.Errorf("asked about %q, want one review without a name", got)
	}
	// Different requests have different cache keys.
	for _, other := range []authorizer.AttributesRecord{
		makeRequest("get", "records", "", "www-1"), makeRequest("delete", "zones", "", "www-1"), makeRequest("delete", "records", "status",
			"www-1"),
		func() authorizer.AttributesRecord {
			r := makeRequest("delete", "records", "", "www-1")
			r.Namespace = "team-b"
			return r
		}(),
		func() authorizer.AttributesRecord {
			r := makeRequest("delete", "records", "", "www-1")
			r.APIGroup = "bind9.kubi.zone"
			return r
		}(),
		func() authorizer.AttributesRecord {
			r := makeRequest("delete", "records", "", "www-1")
			r.User = &user.DefaultInfo{Name: "mallory"}
			return r
		}(),
	} {
		if decision, _, err := a.Authorize(t.Context(), other); decision == authorizer.DecisionAllow || err != nil {
			t.Errorf("%+v: %v, %v; want not allowed", other, decision, err)
		}
	}
}

func TestAuthorize_refusedWithoutTheNameIsAskedWithIt(t *testing.T) {
	c := newCluster(t, evaluateRules(rule{namespace: "team-a", verb: "get", resource: "records", names: []string{"www"}}))
	a := openAuthorizer(t, c.makeConfig(t))
	for range 2 { // the second round is answered from the cache
		if decision, _, err := a.Authorize(t.Context(), makeRequest("get", "records", "", "www")); decision != authorizer.DecisionAllow ||
			err != nil {
			t.Errorf("www: %v, %v; want Allow", decision, err)
		}
		if decision, _, err := a.Authorize(t.Context(), makeRequest("get", "records", "", "mail")); decision == authorizer.DecisionAllow ||
			err != nil {
			t.Errorf("mail: %v, %v; want not allowed", decision, err)
		}
	}
	if got := c.listNames(); !slices.Equal(got, []string{"", "www", "mail"}) {
		t.Errorf("asked about %q, want without a name, then by name, each once", got)
	}
}

// The authorizer asks without the object's name first, and with the name only if that is not allowed. Under RBAC, the
// decision is the same as if always asked with the name. The test compares the decisions with a second implementation
// for every combination of some roles.
func TestAuthorize_isExactUnderRBAC(t *testing.T) {
	verbs, resources, names := []string{"get", "create", "delete"}, []string{"records", "zones"}, []string{"", "www", "mail"}
	roles := []rule{
		{"team-a", "get", "records", nil}, {"team-a", "get", "zones", []string{"www"}}, {"team-b", "get", "zones", nil},
		{"team-a", "delete", "zones", []string{"www", "mail"}}, {"team-a", "create", "records", []string{"www"}},
	}
	for set := range 1 << len(roles) {
		var bound []rule
		for i, r := range roles {
			if set&(1<<i) != 0 {
				bound = append(bound, r)
			}
		}
		answer := evaluateRules(bound...)
		direct := authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
			if answer(&authorizationv1.SubjectAccessReviewSpec{User: a.GetUser().GetName(), ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: a.GetNamespace(), Verb: a.GetVerb(), Group: a.GetAPIGroup(), Resource: a.GetResource(), Subresource: a.GetSubresource(), Name: a.GetName(),
			}}).Allowed {
				return authorizer.DecisionAllow, "", nil
			}
			return authorizer.DecisionNoOpinion, "", nil
		})
		for _, verb := range verbs {
			for _, resource := range resources {
				for _, name := range names {
					asked := makeRequest(verb, resource, "", name)
					want, _, _ := direct.Authorize(t.Context(), asked)
					got, _, err := broadFirst{direct}.Authorize(t.Context(), asked)
					if got != want || err != nil {
						t.Errorf("roles %v, %s %s %q: %v, %v; by name %v", bound, verb, resource, name, got, err, want)
					}
				}
			}
		}
	}
}

func TestAuthorize_selectorsNarrowAsNamesDo(t *testing.T) {
	c := newCluster(t, evaluateRules(rule{namespace: "team-a", verb: "watch", resource: "records"}))
	a := openAuthorizer(t, c.makeConfig(t))
	for i := range 20 { // kubectl wait selects an object by the field metadata.name
		asked := makeRequest("watch", "records", "", fmt.Sprintf("www-%d", i))
		asked.FieldSelectorRequirements = fields.OneTermEqualSelector("metadata.name", asked.Name).Requirements()
		labelled := must.Get(labels.Parse(fmt.Sprintf("app=%d", i)))(t)
		asked.LabelSelectorRequirements, _ = labelled.Requirements()
		if decision, _, err := a.Authorize(t.Context(), asked); decision != authorizer.DecisionAllow || err != nil {
			t.Fatalf("%v, %v; want Allow", decision, err)
		}
	}
	if got := c.asked; len(got) != 1 || got[0].ResourceAttributes.FieldSelector != nil || got[0].ResourceAttributes.LabelSelector != nil {
		t.Errorf("asked %+v, want one review without selectors", got)
	}
}

// By default, the authorizer first asks whether the user may access all objects of a resource, and so would not notice
// a webhook or policy that denies a single name. With AskByName, each request is reviewed as it is, and the denial
// counts.
func TestAuthorize_askByNameMeetsADenyingAuthorizer(t *testing.T) {
	answer := func(spec *authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
		denied := spec.ResourceAttributes.Name == "payroll"
		return authorizationv1.SubjectAccessReviewStatus{Allowed: !denied, Denied: denied, Reason: "policy"}
	}
	c := newCluster(t, answer)
	config := c.makeConfig(t)
	config.AskByName = true
	a := openAuthorizer(t, config)
	if decision, reason, err := a.Authorize(t.Context(), makeRequest("get", "records", "",
		"payroll")); decision != authorizer.DecisionDeny || reason != "policy" || err != nil {
		t.Errorf("payroll: %v, %q, %v; want Deny with the cluster's reason", decision, reason, err)
	}
	if decision, _, err := a.Authorize(t.Context(), makeRequest("get", "records", "", "www")); decision != authorizer.DecisionAllow ||
		err != nil {
		t.Errorf("www: %v, %v; want Allow", decision, err)
	}
	if got := c.listNames(); !slices.Equal(got, []string{"payroll", "www"}) {
		t.Errorf("asked about %q, want each request as it is", got)
	}
}

func TestAuthorize_failsClosed(t *testing.T) { // attack 46
	for name, c := range map[string]struct {
		fail    http.HandlerFunc
		both    bool
		timeout time.Duration
		ctx     time.Duration
	}{
		"the review times out":    {timeout: 300 * time.Millisecond, fail: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		"the request's time ends": {ctx: 50 * time.Millisecond, fail: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		"the cluster answers 500": {fail: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }},
		"the cluster answers 429": {fail: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }},
		"the cluster answers 504": {fail: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGatewayTimeout) }},
		"we may not ask":          {fail: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }},
		"the answer is no review": {fail: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, "<html>allowed</html>")
		}},
		"the connection breaks": {fail: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"allowed and denied":    {both: true},
	} {
		for _, byName := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, by name %v", name, byName), func(t *testing.T) {
				server := newCluster(t, func(*authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
					return authorizationv1.SubjectAccessReviewStatus{Allowed: true, Denied: c.both}
				})
				server.fail = c.fail
				config := server.makeConfig(t)
				if c.timeout > 0 {
					client := must.Get(authorizationclient.NewForConfig(&rest.Config{Host: server.URL, QPS: -1, Timeout: c.timeout}))(t)
					config.Client = client
				}
				config.AskByName = byName
				ctx := t.Context()
				if c.ctx > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.ctx)
					defer cancel()
				}
				a := openAuthorizer(t, config)
				decision, _, err := a.Authorize(ctx, makeRequest("delete", "records", "", "www"))
				if decision != authorizer.DecisionDeny || err == nil {
					t.Errorf("%v, %v; want Deny and an error, which the generic server answers with 500", decision, err)
				}
				if aware := a.ConditionsAwareAuthorize(ctx, makeRequest("delete", "records", "", "www")); aware.IsAllow() {
					t.Error("the conditions-aware answer allows")
				}
				want := "www"
				if !byName {
					want = ""
				}
				for _, asked := range server.listNames() {
					if asked != want {
						t.Errorf("after the failure it was asked about %q too", asked)
					}
				}
				// Errors are not cached.
				if !c.both {
					server.mu.Lock()
					server.fail = nil
					server.mu.Unlock()
					if decision, _, err := a.Authorize(t.Context(), makeRequest("delete", "records", "",
						"www")); decision != authorizer.DecisionAllow {
						t.Errorf("after the failure: %v, %v", decision, err)
					}
				}
			})
		}
	}
}

func TestAuthorize_answersEndWithTheirTTL(t *testing.T) {
	var mu sync.Mutex
	allowed := true
	c := newCluster(t, func(*authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
		mu.Lock()
		defer mu.Unlock()
		return authorizationv1.SubjectAccessReviewStatus{Allowed: allowed}
	})
	config := c.makeConfig(t)
	config.AllowCacheTTL, config.DenyCacheTTL = 10*time.Millisecond, 10*time.Millisecond
	a := openAuthorizer(t, config)
	for _, now := range []bool{true, false, true} {
		mu.Lock()
		allowed = now
		mu.Unlock()
		err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
			decision, _, err := a.Authorize(ctx, makeRequest("get", "records", "", "www"))
			return (decision == authorizer.DecisionAllow) == now, err
		})
		if err != nil {
			t.Fatalf("allowed becomes %v in the cluster, and the remembered answer stays: %v", now, err)
		}
	}
}

func TestAuthorize_isNotAskedAbout(t *testing.T) {
	c := newCluster(t, evaluateRules())
	a := openAuthorizer(t, c.makeConfig(t))
	anonymous := &user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}
	master := makeRequest("delete", "zones", "", "example-org")
	master.User = &user.DefaultInfo{Name: "root", Groups: []string{user.SystemPrivilegedGroup}}
	allowed := []authorizer.AttributesRecord{master}
	for _, p := range []string{"/healthz", "/livez", "/readyz"} {
		allowed = append(allowed, authorizer.AttributesRecord{User: anonymous, Verb: "get", Path: p})
	}
	for _, asked := range allowed {
		if decision, _, err := a.Authorize(t.Context(), asked); decision != authorizer.DecisionAllow || err != nil {
			t.Errorf("%+v: %v, %v; want Allow", asked, decision, err)
		}
	}
	if got := c.listNames(); len(got) != 0 {
		t.Errorf("asked about %q, want nothing", got)
	}
	for _, p := range []string{"/metrics", "/debug/pprof/", "/openapi/v3", "/readyz/etcd", "/"} { // attack 44
		if decision, _, err := a.Authorize(t.Context(), authorizer.AttributesRecord{User: anonymous, Verb: "get", Path: p}); decision == authorizer.DecisionAllow || err != nil {
			t.Errorf("%s: %v, %v; want not allowed", p, decision, err)
		}
	}
	if got := c.listNames(); !slices.Equal(got, []string{"/metrics", "/debug/pprof/", "/openapi/v3", "/readyz/etcd", "/"}) {
		t.Errorf("asked about %q, want each path once", got)
	}
}

func TestAuthorize_manyAtOnce(t *testing.T) {
	c := newCluster(t, evaluateRules(
		rule{namespace: "team-a", verb: "update", resource: "records"},
		rule{namespace: "team-a", verb: "get", resource: "records", names: []string{"www-1", "www-3"}},
	))
	a := openAuthorizer(t, c.makeConfig(t))
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			for j := range 50 {
				name := fmt.Sprintf("www-%d", (i+j)%5)
				if decision, _, err := a.Authorize(t.Context(), makeRequest("update", "records", "",
					name)); decision != authorizer.DecisionAllow || err != nil {
					t.Errorf("update %s: %v, %v", name, decision, err)
				}
				decision, _, err := a.Authorize(t.Context(), makeRequest("get", "records", "", name))
				if want := name == "www-1" || name == "www-3"; (decision == authorizer.DecisionAllow) != want || err != nil {
					t.Errorf("get %s: %v, %v", name, decision, err)
				}
			}
		})
	}
	group.Wait()
	if n := len(c.listNames()); n > 16*7 { // two reviews without a name and five with a name, each at most once per concurrent caller
		t.Errorf("%d reviews for 1600 requests", n)
	}
}

func TestConfig_saysEveryFault(t *testing.T) {
	_, err := New(Config{AllowCacheTTL: -1})
	must.Say(t, err, "Client is required", "must not be negative", "RetryBackoff.Steps")
	c := newCluster(t, evaluateRules())
	config := c.makeConfig(t)
	config.AlwaysAllowPaths = []string{"/a*b"}
	if _, err := New(config); err == nil {
		t.Error("a path with * in the middle is accepted")
	}
}

func BenchmarkAuthorize_differentNames(b *testing.B) {
	c := newCluster(b, evaluateRules(rule{namespace: "team-a", verb: "update", resource: "records"}))
	for _, byName := range []bool{false, true} {
		b.Run(fmt.Sprintf("by-name=%v", byName), func(b *testing.B) {
			config := c.makeConfig(b)
			config.AskByName = byName
			a := openAuthorizer(b, config)
			b.ReportAllocs()
			before := len(c.listNames())
			i := 0
			for b.Loop() {
				i++
				if decision, _, err := a.Authorize(b.Context(), makeRequest("update", "records", "",
					fmt.Sprintf("www-%d", i))); decision != authorizer.DecisionAllow || err != nil {
					b.Fatal(decision, err)
				}
			}
			b.ReportMetric(float64(len(c.listNames())-before)/float64(i), "reviews/op")
		})
	}
}

// Requests in InEveryNamespace are reviewed without their namespace (guarantee 6).
func TestAuthorize_inEveryNamespace(t *testing.T) {
	for _, byName := range []bool{false, true} {
		with := func(namespace string) authorizer.Authorizer {
			config := newCluster(t, evaluateRules(rule{namespace: namespace, verb: "update", resource: "deliveries"},
				rule{namespace: namespace, verb: "update", resource: "zones"})).makeConfig(t)
			config.AskByName = byName
			config.InEveryNamespace = func(asked authorizer.Attributes) bool { return asked.GetResource() == "deliveries" }
			return openAuthorizer(t, config)
		}
		for _, c := range []struct {
			namespace, resource string
			allowed             bool
		}{
			{"team-a", "deliveries", false}, {"team-a", "zones", true}, {"", "deliveries", true}, {"", "zones", false},
		} {
			who, asked := with(c.namespace), makeRequest("update", c.resource, "", "one")
			decision, reason, err := who.Authorize(t.Context(), asked)
			if err != nil || (decision == authorizer.DecisionAllow) != c.allowed || c.resource == "deliveries" && !c.allowed && !strings.Contains(reason, "ClusterRoleBinding") {
				t.Errorf("%s with a right in %q: %v, %q, %v", c.resource, c.namespace, decision, reason, err)
			}
			if aware := who.ConditionsAwareAuthorize(t.Context(), asked); aware.IsAllow() != c.allowed {
				t.Errorf("%s with a right in %q, with conditions: %v", c.resource, c.namespace, aware)
			}
		}
	}
}
