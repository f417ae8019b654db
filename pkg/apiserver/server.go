// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	kubeclient "k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/apiserver/budget"
	"kubi.zone/kubizone/pkg/apiserver/inventory"
	"kubi.zone/kubizone/pkg/apiserver/judge"
	"kubi.zone/kubizone/pkg/apiserver/registry/changeset"
	"kubi.zone/kubizone/pkg/apiserver/registry/direct"
	"kubi.zone/kubizone/pkg/apiserver/registry/dnsclass"
	"kubi.zone/kubizone/pkg/apiserver/registry/fromcache"
	"kubi.zone/kubizone/pkg/kit/heartbeat"
	"kubi.zone/kubizone/pkg/kit/inprocess"
	"kubi.zone/kubizone/pkg/kit/version"
	"kubi.zone/kubizone/pkg/zone/etcd/maintenance"
	"kubi.zone/kubizone/pkg/zone/ledger"
	ledgeretcd "kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/pkg/zone/zoneview/feed/fromjournal"
)

// Server is the Kubernetes API server of Kubizone, with the ledger, the store of zones and Records in etcd. Call
// RunLedger and Run once each, concurrently. Call Close when both have returned.
type Server struct {
	generic    *genericapiserver.GenericAPIServer
	authorizer authorizer.Authorizer
	loopback   *restclient.Config // calls this server as an administrator
	ledger     *ledger.Ledger
	client     *kubernetes.Client // of etcd
	compactor  interface {        // of etcd's history
		etcd3.Compactor
		Stop()
	}
	keeper    *maintenance.Keeper // of etcd's space
	registry  metrics.KubeRegistry
	feed      *fromjournal.Source // fills the Set of zones in memory
	metrics   *Metrics
	classes   *dnsclass.Lister
	judge     *judge.Judge    // of Ready, of Zones and Records
	budgets   *budget.Budgets // nil without budgets
	announcer announcer       // writes Events
	// core is a client of kube-apiserver. Nil without the ResourceQuota plugin.
	core       kubeclient.Interface
	closing    sync.Once  // for Close
	namespaces namespaces // empty without kube-apiserver
	// leases is nil outside a pod.
	leases    func(changed func()) *heartbeat.Watcher
	inventory *inventory.Reader
	ready     atomic.Bool // /readyz has passed once
	// firstMissing returns the permission for which the server is not ready, or "", and the next step; nil without a
	// kube-apiserver.
	firstMissing func() (fault, step string)
	leaving      atomic.Bool // responses close their connections (A5)
}

// connectEtcd returns a Server with etcd's client, budgets and an open ledger. On an error, all is closed. limits is
// nil without budgets.
func connectEtcd(ctx context.Context, config *genericapiserver.RecommendedConfig, etcd *genericoptions.EtcdOptions,
	limits *budget.Limits, historyRetention *time.Duration) (_ *Server, err error) {
	if err := etcd.ApplyTo(&config.Config); err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	s := &Server{loopback: config.LoopbackClientConfig, registry: metrics.NewKubeRegistry()}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()

	// Connect, and refuse a store of an unknown format before the first write.
	if s.client, err = dialEtcd(ctx, etcd.StorageConfig.Transport); err != nil {
		return nil, err
	}
	if err := ledger.CheckFormat(ctx, s.client.Client, Prefix); err != nil {
		return nil, err
	}
	if err := maintenance.Probe(ctx, s.client.Client, Prefix); err != nil {
		return nil, err
	}

	// Charge transactions to budgets.
	s.keeper = maintenance.NewKeeper(s.client.Client, Prefix, s.registry)
	if limits != nil {
		s.budgets = budget.New(budget.Config{Limits: *limits, Quota: s.keeper.Quota, Override: s.namespaces.budgetOf, Registry: s.registry})
		s.client.Client.KV = ledgeretcd.MeterKV(s.client.Client.KV,
			ledgeretcd.Least{Below: Prefix + "/" + v1alpha1.GroupName + "/", Octets: install.MaxCompressed}, s.budgets.Charge)
	}

	// Open the ledger. assembleServer sets the fields of its callbacks.
	s.compactor = etcd3.StartCompactorPerEndpoint(s.client.Client, etcd.StorageConfig.CompactionInterval)
	stored := ledger.Config{
		Client: s.client.Client, Prefix: Prefix,
		Zones:       objectCodec(etcd, config.ResourceTransformers, v1alpha1.Resource("zones")),
		Records:     objectCodec(etcd, config.ResourceTransformers, v1alpha1.Resource("records")),
		Delegations: objectCodec(etcd, config.ResourceTransformers, v1alpha1.Resource("delegations")),
		Deliveries:  objectCodec(etcd, config.ResourceTransformers, v1alpha1.Resource("deliveries")),

		HasDefaultClass: func(namespace, view string) bool { return s.classes.MayDeliver(namespace, view) },
		HasNameServers:  func(o *v1alpha1.Zone) bool { return s.classes.HaveNameServers(o) },
		IsTerminating:   s.namespaces.isTerminating,
		OnHold:          s.announcer.announceHeld, Notify: s.announcer.announceNotices,
		OnWithdrawal: s.announcer.announceWithdrawn,
		Now:          Faults.Now, OnFault: Faults.At,
		HistoryRetention: historyRetention, Quota: s.keeper.Quota, Traces: config.TracerProvider,
	}

	if s.ledger, err = ledger.Open(ctx, stored); err != nil {
		return nil, err
	}
	return s, nil
}

type storageOptions struct {
	zones                *zoneview.Set
	inlineSecrets, plain bool
	fleet                validation.FleetRules
	acme                 ACME
	peerCertFile         string
	permissions          func() []string             // nil without a kube-apiserver
	firstMissing         func() (fault, step string) // the permission for which a server is not ready; nil or ""
}

// ACME configures the group acme.kubi.zone, as acme.Config does.
type ACME struct {
	Serve              bool
	ClusterIssuers     []string
	RecordsExpireAfter time.Duration
}

// assembleServer builds the API server on the open ledger: metrics, checks, handlers and API groups. It is called once.
func (s *Server) assembleServer(registry install.Registry, config *genericapiserver.RecommendedConfig, etcd *genericoptions.EtcdOptions,
	stored storageOptions) (err error) {
	s.firstMissing = stored.firstMissing
	s.feed = fromjournal.New(s.ledger, stored.zones)
	s.metrics = NewMetrics(s.registry, s.ledger, s.feed, stored.zones)
	s.metrics.listGone = func() ([]string, bool) { return s.namespaces.listGone(s.budgets.Namespaces()) }
	s.inventory = &inventory.Reader{Began: time.Now(), EtcdState: s.keeper.State, Certificates: s.metrics.certificates,
		ListGone: s.metrics.listGone, Permissions: stored.permissions,
		ListTerminating: func() []string { return s.namespaces.listTerminating(s.budgets.Namespaces()) }}

	// Certificates whose end is a metric and part of the Installation.
	if serving := config.SecureServing; serving != nil && serving.Cert != nil {
		s.inventory.AddServing(serving.Cert)
	}
	s.inventory.AddFile("etcd-client", etcd.StorageConfig.Transport.CertFile)
	s.inventory.AddFile("etcd-ca", etcd.StorageConfig.Transport.TrustedCAFile)
	s.inventory.AddFile("etcd-peer", stored.peerCertFile)

	config.AddReadyzChecks(
		healthz.NamedCheck("views", func(*http.Request) error { return s.feed.Check() }),
		healthz.NamedCheck("classes", func(*http.Request) error { return s.classes.Check() }),
	)
	config.HealthzChecks = append(config.HealthzChecks, s.keeper.Checks()...)

	// Handlers, outermost first: closeConnections, EndSlowClients, the generic apiserver's, checkBodies (generic.go),
	// refuseUntilReady, boundWarnings, changeset.WithRequest, the API.
	chain := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return s.closeConnections(chain(s.refuseUntilReady(boundWarnings(changeset.WithRequest(handler)), c), c))
	}

	if s.generic, err = config.Complete().New(version.Component, genericapiserver.NewEmptyDelegate()); err != nil {
		return fmt.Errorf("API server: %w", err)
	}
	s.generic.ShutdownTimeout = drainTimeout
	serveMetrics(s.generic.Handler.NonGoRestfulMux, s.registry, config.EnableProfiling)

	s.authorizer = config.Authorization.Authorizer
	// A watcher of Leases for the inventory and metrics. The judge has its own while elected.
	if s.leases != nil {
		s.inventory.Processes = s.leases(func() {})
		s.metrics.replicas = s.inventory.Processes.Replicas
	}

	options := restOptions{RESTOptionsGetter: config.RESTOptionsGetter,
		decorator: s.storageDecorator(etcd.StorageConfig.Transport, stored.plain)}
	items := direct.Config{Admission: config.AdmissionControl, Authorizer: actingAuthorizer{s.authorizer},
		AuditSink: config.AuditBackend, AuditPolicy: config.AuditPolicyRuleEvaluator}
	return s.installGroups(registry, options, stored, items)
}

// storageDecorator returns the factory of storage for each resource: zone content through the ledger, and all objects
// of tenants within their budget.
func (s *Server) storageDecorator(where storagebackend.TransportConfig, plain bool) generic.StorageDecorator {
	budget := budgetJudge{budgets: s.budgets, keys: s.ledger.Layout()}
	above := fromcache.Storage
	if plain {
		above = func(cached storage.Interface) storage.Interface { return cached }
	}
	return newDecorator(
		func() (*kubernetes.Client, error) { return dialEtcd(context.Background(), where) },
		s.compactor, ledger.Versions(Prefix),
		func(resource schema.GroupResource, raw storage.Interface) (storage.Interface, error) {
			if plain {
				return raw, nil // benchmarks write without the ledger
			}

			within := &budgeted{judge: budget, resource: resource}
			switch resource {
			case v1alpha1.Resource("zones"):
				within.Interface = s.ledger.Zones(raw)
			case v1alpha1.Resource("records"):
				within.Interface = s.ledger.Records(raw)
			case v1alpha1.Resource("delegations"):
				within.Interface = s.ledger.Delegations(raw)
			case v1alpha1.Resource("updatekeys"), bind9.Resource("bind9instances"):
				within.Interface, within.charges = raw, true
			case v1alpha1.Resource("dnsclasses"), v1alpha1.Resource("deliveries"), bind9.Resource("clusterbind9providers"):
				return raw, nil // no zone content, no budget
			case bind9.Resource("bind9clusters"):
				within.Interface, within.charges, within.clusters = raw, true, s.countClusters
			default: // add a case for a new resource
				return nil, fmt.Errorf("storage of %s: whether the ledger must know this resource is not said", resource)
			}

			if s.budgets == nil {
				return within.Interface, nil
			}
			return within, nil
		},
		above,
	)
}

func (s *Server) countClusters(ctx context.Context, namespace string) (int64, error) {
	return s.client.Count(ctx, s.ledger.Layout().Objects(bind9.Resource("bind9clusters").String())+namespace+"/", kubernetes.CountOptions{})
}

// Loopback returns an administrator's client configuration that calls the server's handler directly. Watches and
// streams do not work.
func (s *Server) Loopback() *restclient.Config {
	return &restclient.Config{Host: s.loopback.Host, BearerToken: s.loopback.BearerToken, QPS: -1,
		ContentConfig: restclient.ContentConfig{ContentType: runtime.ContentTypeProtobuf},
		Transport:     inprocess.Transport{Handler: s.generic.Handler}}
}

func (s *Server) ConfigAs(user string) *restclient.Config {
	config := restclient.CopyConfig(s.loopback)
	config.Impersonate.UserName = user
	return config
}

// Registry has the server's metrics, without the generic apiserver's.
func (s *Server) Registry() metrics.KubeRegistry { return s.registry }

// Run serves the API until ctx ends, then shuts down as in A5.
func (s *Server) Run(ctx context.Context) error {
	defer s.leaveAfter(ctx)()
	return s.generic.PrepareRun().RunWithContext(ctx)
}

// RunLedger runs background work, such as cascades (changes of many Records) and etcd's maintenance, until ctx ends or
// a part fails. End ctx after Run has returned, because pending requests need the ledger.
func (s *Server) RunLedger(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for part, run := range map[string]func(context.Context) error{"cascades": s.runCascades, "format": s.ledger.FollowFormat,
		"views": s.feed.Run, "classes": s.classes.Run, "Ready": s.judge.Run, "budgets": s.followSizes, "care for etcd": s.keeper.Run,
		"metrics": s.metrics.countKeys, "processes": s.inventory.Run} {
		// A part that fails ends all others, and the process with its cause.
		running.Go(func() {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("%s: %w", part, err))
			}
		})
	}
	<-ctx.Done()
	running.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func (s *Server) followSizes(ctx context.Context) error {
	if s.budgets == nil {
		return nil
	}
	return s.ledger.FollowSizes(ctx, s.budgets)
}

// runCascades carries out cascades, and writes Events, until ctx ends.
func (s *Server) runCascades(ctx context.Context) error {
	// A cascade must not take objects of a terminating namespace into a zone (S2.6). After ten seconds it goes on
	// without the list.
	if s.namespaces.synced != nil {
		first, cancel := context.WithTimeout(ctx, 10*time.Second)
		cache.WaitForCacheSync(first.Done(), s.namespaces.synced)
		cancel()
	}
	if b := s.announcer.broadcaster; b != nil {
		if err := b.StartRecordingToSinkWithContext(ctx); err != nil {
			return fmt.Errorf("recording Events: %w", err)
		}
		defer b.Shutdown()
		go s.announcer.writeQueued(ctx)
	}
	return s.ledger.Run(ctx)
}

// WaitForViews blocks until Config.Zones has the content of every stored zone. Repeated read errors end the wait.
func (s *Server) WaitForViews(ctx context.Context) error { return s.feed.Wait(ctx) }

// Frozen returns the zones whose content does not match their hash.
func (s *Server) Frozen() []cache.ObjectName { return s.feed.FrozenZones() }

// WaitForAPI blocks until /readyz passes.
func (s *Server) WaitForAPI(ctx context.Context) error {
	client, err := restclient.HTTPClientFor(s.loopback)
	if err != nil {
		return fmt.Errorf("loopback client: %w", err)
	}
	defer client.CloseIdleConnections()
	var last error
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.loopback.Host+"/readyz", nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(request)
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("/readyz answers %s", answer.Status)
		}
		// The error of the request that ctx has ended explains nothing.
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), last)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Close releases etcd and the storage. It may be called several times, and on a Server whose start has failed.
func (s *Server) Close() {
	s.closing.Do(func() {
		if s.generic != nil {
			s.generic.Destroy()
		}
		if s.compactor != nil {
			s.compactor.Stop()
		}
		if s.client != nil {
			s.client.Close()
		}
	})
}
