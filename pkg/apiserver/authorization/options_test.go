// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"kubi.zone/kubizone/test/must"
)

func parseOptions(t *testing.T, args ...string) *Options {
	t.Helper()
	o := NewOptions()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	o.AddFlags(flags)
	must.Succeed(t, flags.Parse(args))
	if wrong := o.Validate(); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	return o
}

func TestOptions_makeTheAuthorizerOfTheServer(t *testing.T) {
	for _, byName := range []bool{false, true} {
		c := newCluster(t, evaluateRules(rule{namespace: "team-a", verb: "get", resource: "records"}))
		var info genericapiserver.AuthorizationInfo
		o := parseOptions(t, "--authorization-kubeconfig="+must.WriteKubeconfig(t, c.URL), fmt.Sprintf("--authorization-ask-by-name=%v", byName))
		must.Succeed(t, o.ApplyTo(&info))
		for _, name := range []string{"www", "mail"} {
			if decision, _, err := info.Authorizer.Authorize(t.Context(), makeRequest("get", "records", "",
				name)); decision != authorizer.DecisionAllow || err != nil {
				t.Errorf("%s: %v, %v; want Allow", name, decision, err)
			}
		}
		want := []string{""}
		if byName {
			want = []string{"www", "mail"}
		}
		if got := c.listNames(); !slices.Equal(got, want) {
			t.Errorf("by name %v: asked about %q, want %q", byName, got, want)
		}
	}
}

// Every request may need a SubjectAccessReview, so the client that sends reviews has no rate limit of its own. All
// tenants would share upstream's limit of 200 a second, and a busy tenant would slow down the others.
func TestOptions_doNotLimitReviews(t *testing.T) {
	o := parseOptions(t, "--authorization-kubeconfig="+must.WriteKubeconfig(t, "http://127.0.0.1:1"))
	config := must.Get(o.clientConfig())(t)
	client := must.Get(authorizationclient.NewForConfig(config))(t)
	if limiter := client.RESTClient().GetRateLimiter(); limiter != nil {
		t.Errorf("the client is limited to %v requests a second", limiter.QPS())
	}
	if config.Timeout != 10*time.Second {
		t.Errorf("a review may take %v, want upstream's 10s", config.Timeout)
	}
}

func TestOptions_nameTheFlagAtFault(t *testing.T) {
	o := parseOptions(t, "--authorization-kubeconfig=/nowhere")
	if err := o.ApplyTo(&genericapiserver.AuthorizationInfo{}); err == nil || !strings.Contains(err.Error(), "--authorization-kubeconfig") {
		t.Errorf("%v does not name --authorization-kubeconfig", err)
	}
	o = NewOptions()
	if err := o.ApplyTo(&genericapiserver.AuthorizationInfo{}); err == nil || !strings.Contains(err.Error(), "--authorization-kubeconfig") {
		t.Errorf("outside of a pod without a kubeconfig: %v does not name --authorization-kubeconfig", err)
	}
	o.DenyCacheTTL, o.ClientTimeout = -time.Second, 0
	if wrong := o.Validate(); len(wrong) != 2 {
		t.Errorf("%v, want two faults", wrong)
	}
}
