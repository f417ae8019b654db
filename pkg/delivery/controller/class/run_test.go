// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"cmp"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/judge"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/must"
)

// newClient has the objects, and gives created Deliveries a resourceVersion: without one, an object counts as absent.
func newClient(objects ...runtime.Object) *fake.Clientset {
	client := fake.NewSimpleClientset(objects...) //nolint:staticcheck // NewClientset asks for another name of our types than OpenAPI has.
	client.PrependReactor("create", "deliveries", func(action clienttesting.Action) (bool, runtime.Object, error) {
		action.(clienttesting.CreateAction).GetObject().(*v1alpha1.Delivery).ResourceVersion = "1"
		return false, nil, nil
	})
	return client
}

// giveWebhooks returns the given provider for every class with a block webhook.
func giveWebhooks(provider delivery.Provider, target string) map[string]NewProvider {
	return map[string]NewProvider{"webhook": func(*v1alpha1.DNSClass, secrets.GetFunc) (delivery.Provider, string, error) {
		return provider, target, nil
	}}
}

func newController(t *testing.T, client *fake.Clientset) *Controller {
	t.Helper()
	informers := externalversions.NewSharedInformerFactory(client, 0)
	return must.Get(New(completeConfig(Config{Client: client, Informers: informers, Views: zoneview.NewSet(zoneview.Config{})})))(t)
}

func completeConfig(config Config) Config {
	config.Identity = "me"
	if config.Secrets == nil {
		config.Secrets = unreadable{secrets.ErrNotFound}
	}
	if config.Clusters == nil {
		config.Clusters = config.Informers.Bind9().V1alpha1().Bind9Clusters()
	}
	if config.Servers == nil {
		config.Servers = func(*v1alpha1.DNSClass) []string { return nil }
	}
	if config.Registry == nil {
		config.Registry = metrics.NewKubeRegistry()
	}
	config.HealthInterval = cmp.Or(config.HealthInterval, 10*time.Minute)
	return config
}

// runController runs a controller beside the judge of Ready until end, which waits for all goroutines.
func runController(t *testing.T, client *fake.Clientset, config Config) (ctx context.Context, end func()) {
	t.Helper()
	informers := externalversions.NewSharedInformerFactory(client, 0)
	config.Client, config.Informers = client, informers
	controller := must.Get(New(completeConfig(config)))(t)
	ctx, cancel := context.WithCancel(t.Context())
	informers.StartWithContext(ctx)
	ended := make(chan error)
	go func() { ended <- controller.Run(ctx) }()
	endJudge := startJudge(t, &records{client: client}, judge.Config{})
	return ctx, func() {
		t.Helper()
		endJudge()
		cancel()
		informers.Shutdown()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		synctest.Wait()
	}
}
