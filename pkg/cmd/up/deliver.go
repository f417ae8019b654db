// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"log/slog"
	"os"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/cmd/delivering"
	"kubi.zone/kubizone/pkg/controller/class"
	"kubi.zone/kubizone/pkg/generated/clientset/versioned"
	"kubi.zone/kubizone/pkg/generated/informers/externalversions"
	"kubi.zone/kubizone/pkg/zoneview"
)

// startController delivers what the server stores, from the server's own views. There is one process, so nobody is to be
// elected.
func (c *Config) startController(ctx context.Context, all *parts, kubeconfig string, zones *zoneview.Set) error {
	reach, err := clientFor(kubeconfig, "kubizone-controller")
	if err != nil {
		return err
	}
	reach.QPS = -1 // The server says when it is too much.
	client, err := versioned.NewForConfig(reach)
	if err != nil {
		return err
	}
	informers := externalversions.NewSharedInformerFactory(client, 0)
	controller, err := class.New(class.Config{
		Identity: "up_" + string(uuid.NewUUID()), Client: client, Informers: informers, Views: zones,
		Providers: delivering.Providers, Secrets: delivering.DirectorySecrets(c.SecretsDir), Metrics: figures(),
		Logger:         slog.New(logr.ToSlogHandler(klog.Background())),
		HealthInterval: c.Delivering.HealthCheckInterval, Backoff: c.Delivering.Backoff(),
	})
	if err != nil {
		return err
	}
	all.start(ctx, "controller", func(ctx context.Context) error {
		informers.StartWithContext(ctx)
		defer informers.Shutdown()
		return controller.Run(ctx)
	})
	return nil
}

// figures are served by the API server, whose registry is one for the process: two servers in one (tests) share them.
var figures = sync.OnceValue(func() *class.Metrics {
	measured := class.NewMetrics()
	legacyregistry.MustRegister(measured.Registerables()...)
	return measured
})

func clientFor(kubeconfig, agent string) (*rest.Config, error) {
	text, err := os.ReadFile(kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil {
		return nil, err
	}
	client.UserAgent = agent
	return client, nil
}
