// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/spf13/pflag"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"kubi.zone/kubizone/test/must"
)

var (
	primaryService = types.NamespacedName{Namespace: "kubizone-system", Name: "kubizone-primary"}
	ownAddresses   = []net.Addr{&net.IPNet{IP: net.ParseIP("10.0.0.7")}, &net.IPNet{IP: net.ParseIP("2001:db8::7")}}
)

func makeSlice(service string, ready *bool, addresses ...string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: primaryService.Namespace, Name: service + addresses[0],
			Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: addresses, Conditions: discoveryv1.EndpointConditions{Ready: ready}}},
	}
}

func TestFindEndpoint(t *testing.T) {
	yes, no := true, false
	for name, test := range map[string]struct {
		slices []runtime.Object
		want   error
	}{
		"none":                        {nil, errNoEndpoint},
		"ready":                       {[]runtime.Object{makeSlice("kubizone-primary", &yes, "10.0.0.7")}, nil},
		"ready where nothing is said": {[]runtime.Object{makeSlice("kubizone-primary", nil, "10.0.0.7")}, nil},
		"IPv6":                        {[]runtime.Object{makeSlice("kubizone-primary", &yes, "2001:db8:0::7")}, nil},
		"not ready":                   {[]runtime.Object{makeSlice("kubizone-primary", &no, "10.0.0.7")}, errNoEndpoint},
		"of another pod":              {[]runtime.Object{makeSlice("kubizone-primary", &yes, "10.0.0.8")}, errNoEndpoint},
		"of another Service":          {[]runtime.Object{makeSlice("kubizone", &yes, "10.0.0.7")}, errNoEndpoint},
	} {
		if err := findEndpoint(t.Context(), fake.NewClientset(test.slices...), primaryService, ownAddresses); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A primary notifies its secondaries when it starts, and they then connect to its Service. So it waits until the
// Service has its pod: an earlier transfer would reach no server.
func TestWaitForEndpoint_returnsWhenTheServiceHasThePod(t *testing.T) {
	cluster := fake.NewClientset()
	asked := make(chan struct{}, 1)
	cluster.PrependReactor("list", "endpointslices", func(clienttesting.Action) (bool, runtime.Object, error) {
		select {
		case asked <- struct{}{}:
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "endpointslices"}, "", nil)
		default:
			return false, nil, nil
		}
	})
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		waitForEndpoint(t.Context(), cluster, primaryService, ownAddresses)
	}()
	select {
	case <-returned:
		t.Fatal("it returned while the Service has no pod")
	case <-time.After(2 * proxyTime):
	}
	must.Get(cluster.DiscoveryV1().EndpointSlices(primaryService.Namespace).Create(t.Context(),
		makeSlice("kubizone-primary", nil, "10.0.0.7"), metav1.CreateOptions{}))(t)
	select {
	case <-returned:
	case <-time.After(time.Minute):
		t.Fatal("it does not return")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	waitForEndpoint(ended, fake.NewClientset(), primaryService, ownAddresses) // ends with its context
}

func TestComplete_readsTheService(t *testing.T) {
	file := must.WriteKubeconfig(t, "https://127.0.0.1:1")
	for service, want := range map[string]types.NamespacedName{
		"":      {},
		"dns":   {Namespace: "team", Name: "dns"},
		"a/dns": {Namespace: "a", Name: "dns"},
		"a/b/c": {}, "/": {}, "A": {},
	} {
		options, flags := NewOptions(), pflag.NewFlagSet("", pflag.ContinueOnError)
		options.AddFlags(flags)
		must.Succeed(t, flags.Parse([]string{"--kubeconfig", file, "--dns-listen", "127.0.0.1:0", "--service", service}))
		config, err := options.Complete(io.Discard)
		if refused := service != "" && want.Name == ""; (err != nil) != refused || !refused && config.Service != want {
			t.Errorf("--service %q: %v, %v", service, config.Service, err)
		}
	}
}
