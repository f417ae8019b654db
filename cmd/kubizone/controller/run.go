// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	coreinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	"kubi.zone/kubizone/cmd/kubizone/delivering"
	"kubi.zone/kubizone/cmd/kubizone/process"
	"kubi.zone/kubizone/cmd/kubizone/tracing"
	"kubi.zone/kubizone/pkg/bind9/agents"
	"kubi.zone/kubizone/pkg/bind9/signing"
	"kubi.zone/kubizone/pkg/delivery/controller/class"
	"kubi.zone/kubizone/pkg/delivery/controller/transferclass"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/kit/heartbeat"
	"kubi.zone/kubizone/pkg/kit/memory"
	"kubi.zone/kubizone/pkg/kit/traces"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/pkg/zone/zoneview/feed/fromapi"
)

var errStandalone = errors.New("the server has no Leases, so it is no Kubernetes cluster: a standalone server (kubizone up) delivers by " +
	"itself, and needs no controller beside it; name the kubeconfig of the cluster that the API is in")

type worker struct {
	*Config
	*process.Process
	identity   string
	cluster    kubernetes.Interface
	controller *class.Controller
	signing    *signing.Controller
	recorder   events.EventBroadcaster
}

// Run runs the controller until ctx ends, and then returns nil. Of several controllers only the holder of the Lease
// delivers zones; the others wait.
func (c *Config) Run(ctx context.Context) error {
	shell, err := process.Open(c.HealthListen, c.Out)
	if err != nil {
		return err
	}
	defer shell.Close()

	spans, err := tracing.Open(ctx, c.Traces, "controller")
	if err != nil {
		return err
	}
	defer tracing.Close(spans)

	w, err := c.newWorker(shell, spans)
	if err != nil {
		return err
	}

	// When ctx ends, running ends too, and no delivery begins. Deliveries in flight still write their outcome, so
	// zones, Lease and Events remain available until outlasting ends.
	return w.Process.Run(ctx, func(running, outlasting context.Context) error {
		// A server without Leases is standalone, and has a controller of its own. Other errors may be temporary.
		_, err := w.cluster.Discovery().ServerResourcesForGroupVersion(coordinationv1.SchemeGroupVersion.String())
		if apierrors.IsNotFound(err) {
			return errStandalone
		}

		if err := w.recorder.StartRecordingToSinkWithContext(outlasting); err != nil {
			return err
		}
		defer w.recorder.Shutdown()

		w.Printf("ready: waiting for Lease %s as %s", w.Lease, w.identity)
		return w.WorkWithLease(running, outlasting, process.Lease{
			Object: w.Lease, Identity: w.identity, Name: class.FieldManager, Duration: w.LeaseDuration, Client: w.cluster.CoordinationV1(),
		}, func(ctx context.Context) error {
			var all sync.WaitGroup
			defer all.Wait()
			all.Go(func() { w.signing.Run(ctx) })
			return w.controller.Run(ctx)
		})
	})
}

// newWorker makes the controllers for delivery and signing, without starting them. Zones come from the API server in
// this process or, without Server, over the API.
func (c *Config) newWorker(shell *process.Process, spans trace.TracerProvider) (*worker, error) {
	identity, err := process.NewIdentity()
	if err != nil {
		return nil, err
	}
	w := &worker{Config: c, Process: shell, identity: identity}
	api, set := c.Client, (*zoneview.Set)(nil)
	if c.Server != nil {
		api, set = c.Server.API, c.Server.Views
	} else {
		set = zoneview.NewSet(zoneview.ConfigForMemory(memory.Total()))
	}

	// 1. Clients: of the API of Kubizone, and of kube-apiserver.
	own := class.WithoutWaiting(process.Reach(api, class.FieldManager))
	if spans != nil {
		own.Wrap(traces.Transport)
	}
	client, err := versioned.NewForConfig(own)
	if err != nil {
		return nil, err
	}
	shell.Client = client.KubizoneV1alpha1().RESTClient()
	reach := process.Reach(c.Client, class.FieldManager)
	reach.ContentType = "application/vnd.kubernetes.protobuf"
	if w.cluster, err = kubernetes.NewForConfig(reach); err != nil {
		return nil, err
	}

	// 2. Informers and Lease.
	local := externalversions.NewSharedInformerFactory(client, 0)
	// A cluster may lack the APIService of Bind9Instances.
	servers := externalversions.NewSharedInformerFactory(client, 0)
	remote := coreinformers.NewSharedInformerFactoryWithOptions(w.cluster, 0, coreinformers.WithTransform(trimNamespace))
	w.RenewLease(heartbeat.Controller, c.Lease.Namespace, identity, w.cluster.CoordinationV1())
	w.recorder = events.NewBroadcaster(&events.EventSinkImpl{Interface: w.cluster.EventsV1()})

	members := transferclass.NewMembers(client.KubizoneV1alpha1().RESTClient())
	secrets := secrets.NewCluster(w.cluster.CoreV1())
	known := agents.New(secrets)
	agents.NewMetrics(w.Registry, known)
	selected, zones := transferclass.NewServers(servers), local.Kubizone().V1alpha1().Zones()
	sources := delivering.Sources{
		Members: members, Views: set, Client: client, Servers: selected, Zones: zones.Lister(), Agents: known, Secrets: secrets,
		Keys: &transferclass.Keys{},
	}

	// 3. The controllers.
	w.controller, err = class.New(class.Config{
		Identity: w.identity, Client: client, Informers: local, Views: set,
		Providers: sources.Constructors(), Servers: sources.ListServers,
		Secrets: secrets, Namespaces: remote.Core().V1().Namespaces(), Clusters: servers.Bind9().V1alpha1().Bind9Clusters(),
		Events: w.recorder.NewRecorder(scheme.Scheme, class.FieldManager), Registry: w.Registry,
		// The last holder released the Lease without calls in flight, or did not renew it for longer than a call takes.
		Lease: c.LeaseDuration, HealthInterval: c.HealthInterval, Backoff: c.Backoff, Traces: spans,
	})
	if err != nil {
		return nil, err
	}
	if c.Server == nil {
		w.Feed, err = fromapi.New(fromapi.Config{Client: shell.Client, Zones: zones, Set: set, Registry: w.Registry,
			Traced: spans != nil})
		if err != nil {
			return nil, err
		}
	}

	w.signing, err = signing.New(signing.Config{
		Client: client, Zones: zones, Deliveries: local.Kubizone().V1alpha1().Deliveries(),
		Classes: local.Kubizone().V1alpha1().DNSClasses(),
		InForce: w.controller.InForce, Holder: members.HolderAmong, Views: set,
		Servers: selected, Agents: known, Secrets: secrets, ParentServers: signing.LookupParentServers(net.DefaultResolver), Now: time.Now,
		Registry: w.Registry,
	})
	if err != nil {
		return nil, err
	}

	w.Informers = []process.Informers{local, remote, servers}
	// Members decide whose Zone has a name in a class.
	w.Background, w.WaitFirst = []func(context.Context){members.Run}, members.WaitForSync
	return w, nil
}

func trimNamespace(object any) (any, error) {
	if namespace, ok := object.(*corev1.Namespace); ok {
		namespace.ManagedFields, namespace.Annotations = nil, nil
	}
	return object, nil
}
