// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"context"
	"net"
	"slices"
	"sync/atomic"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubizone/dnsserving"
	"kubi.zone/kubizone/cmd/kubizone/process"
	"kubi.zone/kubizone/cmd/kubizone/tracing"
	"kubi.zone/kubizone/pkg/delivery/controller/transferclass"
	"kubi.zone/kubizone/pkg/delivery/controller/updatekey"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/kit/heartbeat"
	"kubi.zone/kubizone/pkg/kit/memory"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/pkg/zone/zoneview/feed/fromapi"
)

// Run serves until ctx ends, and then returns nil.
func (c *Config) Run(ctx context.Context) error {
	// 1. Read zones from the API server in this process, or over the API.
	api, set := c.Client, (*zoneview.Set)(nil)
	if c.Server != nil {
		api, set = c.Server.API, c.Server.Views
	} else {
		set = zoneview.NewSet(zoneview.ConfigForMemory(memory.Total()))
	}
	updates := &updatekey.Poster{}
	const agent = "kubizone-primary"
	cluster, err := kubernetes.NewForConfig(process.Reach(c.Client, agent))
	if err != nil {
		return err
	}
	if c.Service.Name != "" {
		own, err := net.InterfaceAddrs()
		if err != nil {
			return err
		}
		c.Reachable = func(ctx context.Context) { waitForEndpoint(ctx, cluster, c.Service, own) }
	}
	spans, err := tracing.Open(ctx, c.Spans, "primary")
	if err != nil {
		return err
	}
	defer tracing.Close(spans)
	c.Traces = spans
	// 2. Bind the ports.
	dns, err := c.Primary(set, updates)
	if err != nil {
		return err
	}
	defer dns.Close()
	p, err := process.Open(c.HealthListen, c.Out)
	if err != nil {
		return err
	}
	defer p.Close()
	identity, err := process.NewIdentity()
	if err != nil {
		return err
	}
	p.RenewLease(heartbeat.Primary, heartbeat.PodNamespace(), identity, cluster.CoordinationV1())
	for _, warning := range c.Warnings {
		p.Printf("warning: %s", warning)
	}

	// 3. Admit secondaries by DNSClasses, and dynamic updates by UpdateKeys.
	client, err := versioned.NewForConfig(process.Reach(api, agent))
	if err != nil {
		return err
	}
	p.Client = client.KubizoneV1alpha1().RESTClient()
	secrets := c.secrets(cluster)
	informers := externalversions.NewSharedInformerFactory(client, 0)
	// A cluster may lack the APIService of Bind9Instances.
	servers := externalversions.NewSharedInformerFactory(client, 0)
	zones := informers.Kubizone().V1alpha1().Zones()
	if err := zones.Informer().SetTransform(transferclass.Trim); err != nil {
		return err
	}
	members := transferclass.NewMembers(p.Client)
	look := func(cache.ObjectName) {} // a Server reads every zone
	if c.Server == nil {
		p.Feed, err = fromapi.New(fromapi.Config{
			Client: p.Client, Zones: zones, Set: set,
			Interest: func(zone *v1alpha1.Zone) bool {
				return slices.Contains(c.DNSViews, zone.Status.View) || members.HasZone(string(zone.UID))
			},
			Traced: spans != nil, Registry: p.Registry,
		})
		if err != nil {
			return err
		}
		look = p.Feed.Recheck
	}
	classes, err := transferclass.New(transferclass.Config{
		Primary: dns, Members: members, Classes: informers.Kubizone().V1alpha1().DNSClasses(), Zones: zones, Client: client,
		Secrets: secrets, OnJoin: look,
		Servers: transferclass.NewServers(servers), GeneralKeys: c.Keys,
	})
	if err != nil {
		return err
	}
	keys, err := updatekey.New(updatekey.Config{Primary: dns, Poster: updates, Keys: informers.Kubizone().V1alpha1().UpdateKeys(),
		Client: client, Secrets: secrets, WaitFirst: classes.WaitForSync})
	if err != nil {
		return err
	}
	updates.Connect(p.Client)
	dnsserving.NewMetrics(p.Registry, dns)
	p.Informers = []process.Informers{informers, servers}
	p.Background = []func(context.Context){members.Run, classes.Run, keys.Run}
	p.WaitFirst = func(ctx context.Context) error {
		if err := classes.WaitForSync(ctx); err != nil {
			return err
		}
		return keys.WaitForSync(ctx)
	}
	var serving atomic.Bool
	p.Unready = func() string {
		if !serving.Load() {
			return "not serving"
		}
		return ""
	}
	// 4. Serve when all is read. Zones outlast transfers that end after ctx.
	return p.Run(ctx, func(running, _ context.Context) error {
		serving.Store(true)
		defer context.AfterFunc(running, func() { serving.Store(false) })()
		p.Printf("ready: DNS on %s", dns.Addr())
		if err := dns.Run(running); err != nil {
			return err
		}
		return context.Cause(running)
	})
}

func (c *Config) secrets(cluster kubernetes.Interface) secrets.Reader {
	if c.SecretsDir != "" {
		return secrets.Directory(c.SecretsDir)
	}
	return secrets.NewCluster(cluster.CoreV1())
}
