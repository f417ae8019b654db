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
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/pkg/zone/zoneview/feed/fromapi"
)

const agent = "kubizone-primary"

// server is a hidden primary in its process, with what both read over the API.
type server struct {
	*Config
	process *process.Process
	dns     *primary.Primary
	views   *zoneview.Set
	cluster kubernetes.Interface
	client  versioned.Interface
	updates *updatekey.Poster
}

// Run serves until ctx ends, and then returns nil.
func (c *Config) Run(ctx context.Context) error {
	s := &server{Config: c, updates: &updatekey.Poster{}}

	// 1. Connect. The zones come from the API server in this process, or over the API.
	if err := s.connectAPI(); err != nil {
		return err
	}
	spans, err := tracing.Open(ctx, c.Spans, "primary")
	if err != nil {
		return err
	}
	defer tracing.Close(spans)
	c.Traces = spans

	// 2. Bind the ports, so that a taken port is an error before anything is read.
	if s.dns, err = c.Primary(s.views, s.updates); err != nil {
		return err
	}
	defer s.dns.Close()
	if s.process, err = process.Open(c.HealthListen, c.Out); err != nil {
		return err
	}
	defer s.process.Close()
	for _, warning := range c.Warnings {
		s.process.Printf("warning: %s", warning)
	}

	// 3. Renew the Lease by which zones know that a primary works.
	identity, err := process.NewIdentity()
	if err != nil {
		return err
	}
	s.process.RenewLease(heartbeat.Primary, heartbeat.PodNamespace(), identity, s.cluster.CoordinationV1())

	// 4. Admit secondaries by DNSClasses, and dynamic updates by UpdateKeys.
	if err := s.admitPeers(); err != nil {
		return err
	}

	// 5. Serve when all is read.
	return s.serveDNS(ctx)
}

// connectAPI makes the clients and the set of zones. NOTIFYs wait for the endpoint if the Service is known.
func (s *server) connectAPI() (err error) {
	api := s.Client
	if s.Server != nil {
		api, s.views = s.Server.API, s.Server.Views
	} else {
		s.views = zoneview.NewSet(zoneview.ConfigForMemory(memory.Total()))
	}
	if s.cluster, err = kubernetes.NewForConfig(process.Reach(s.Client, agent)); err != nil {
		return err
	}
	if s.client, err = versioned.NewForConfig(process.Reach(api, agent)); err != nil {
		return err
	}
	if s.Service.Name == "" {
		return nil
	}
	own, err := net.InterfaceAddrs()
	s.Reachable = func(ctx context.Context) { waitForEndpoint(ctx, s.cluster, s.Service, own) }
	return err
}

// admitPeers follows DNSClasses and UpdateKeys, and the zones of both. Nothing is read before serveDNS.
func (s *server) admitPeers() error {
	// 1. Follow the Zones. Over the API their content is read too: that of the views, and that of the classes' members.
	s.process.Client = s.client.KubizoneV1alpha1().RESTClient()
	informers := externalversions.NewSharedInformerFactory(s.client, 0)
	zones := informers.Kubizone().V1alpha1().Zones()
	if err := zones.Informer().SetTransform(transferclass.Trim); err != nil {
		return err
	}
	members := transferclass.NewMembers(s.process.Client)
	look := func(cache.ObjectName) {} // a Server reads every zone
	if s.Server == nil {
		var err error
		s.process.Feed, err = fromapi.New(fromapi.Config{
			Client: s.process.Client, Zones: zones, Set: s.views,
			Interest: func(zone *v1alpha1.Zone) bool {
				return slices.Contains(s.DNSViews, zone.Status.View) || members.HasZone(string(zone.UID))
			},
			Traced: s.Traces != nil, Registry: s.process.Registry,
		})
		if err != nil {
			return err
		}
		look = s.process.Feed.Recheck
	}

	// 2. Follow the classes. A cluster may lack the APIService of Bind9Instances, so these have informers of their own.
	secrets := s.secrets(s.cluster)
	servers := externalversions.NewSharedInformerFactory(s.client, 0)
	classes, err := transferclass.New(transferclass.Config{
		Primary: s.dns, Members: members, Classes: informers.Kubizone().V1alpha1().DNSClasses(), Zones: zones, Client: s.client,
		Secrets: secrets, OnJoin: look,
		Servers: transferclass.NewServers(servers), GeneralKeys: s.Keys,
	})
	if err != nil {
		return err
	}

	// 3. Follow the keys of updates. The names of the classes' keys come first.
	keys, err := updatekey.New(updatekey.Config{Primary: s.dns, Poster: s.updates, Keys: informers.Kubizone().V1alpha1().UpdateKeys(),
		Client: s.client, Secrets: secrets, WaitFirst: classes.WaitForSync})
	if err != nil {
		return err
	}
	s.updates.Connect(s.process.Client)

	// 4. Tell the process what to run, and what to wait for.
	dnsserving.NewMetrics(s.process.Registry, s.dns)
	s.process.Informers = []process.Informers{informers, servers}
	s.process.Background = []func(context.Context){members.Run, classes.Run, keys.Run}
	s.process.WaitFirst = func(ctx context.Context) error {
		if err := classes.WaitForSync(ctx); err != nil {
			return err
		}
		return keys.WaitForSync(ctx)
	}
	return nil
}

// serveDNS runs the process, and DNS when all is read. Zones outlast transfers that end after ctx.
func (s *server) serveDNS(ctx context.Context) error {
	var serving atomic.Bool
	s.process.Unready = func() string {
		if !serving.Load() {
			return "not serving"
		}
		return ""
	}
	return s.process.Run(ctx, func(running, _ context.Context) error {
		serving.Store(true)
		defer context.AfterFunc(running, func() { serving.Store(false) })()
		s.process.Printf("ready: DNS on %s", s.dns.Addr())
		if err := s.dns.Run(running); err != nil {
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
