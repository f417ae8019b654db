// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/client/clientset/versioned/scheme"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	"kubi.zone/kubizone/cmd/kubizone/process"
	"kubi.zone/kubizone/pkg/bind9/fleet"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/kit/heartbeat"
)

var errStandalone = errors.New("the server has no Leases, so it is no Kubernetes cluster, and no server can be run there; " +
	"name the kubeconfig of the cluster that the API is in")

// Run waits for the Lease, then runs the servers. It returns nil when ctx has ended.
func (c *Config) Run(ctx context.Context) error {
	// 1. Bind the health port, and connect to the cluster and its API of zones.
	shell, err := process.Open(c.HealthListen, c.Out)
	if err != nil {
		return err
	}
	defer shell.Close()
	identity, err := process.NewIdentity()
	if err != nil {
		return err
	}
	reach := process.Reach(c.Client, fleet.FieldManager)
	client, err := versioned.NewForConfig(reach)
	if err != nil {
		return err
	}
	cluster, err := kubernetes.NewForConfig(reach)
	if err != nil {
		return err
	}

	// 2. Make the controller. Its Events wait until the work begins.
	shell.RenewLease(heartbeat.Fleet, c.Lease.Namespace, identity, cluster.CoordinationV1())
	recorder := events.NewBroadcaster(&events.EventSinkImpl{Interface: cluster.EventsV1()})
	informers := externalversions.NewSharedInformerFactory(client, 0)
	servers, err := fleet.New(fleet.Config{
		Client: client, Informers: informers, Cluster: cluster, Namespaces: c.Namespaces, Platform: c.Platform,
		Primaries: (&primaries{of: c, cluster: cluster}).findAddresses,
		Events:    recorder.NewRecorder(scheme.Scheme, fleet.FieldManager),
		Answers:   askCatalog,
	})
	if err != nil {
		return err
	}
	NewMetrics(shell.Registry, informers.Bind9().V1alpha1().Bind9Instances().Lister())
	shell.Informers, shell.Client, shell.WaitFirst = []process.Informers{informers, servers}, client.Bind9V1alpha1().RESTClient(),
		servers.WaitForSync

	// 3. Work while this process has the Lease, so that a single fleet changes the pods.
	return shell.Run(ctx, func(running, outlasting context.Context) error {
		// Other errors may be temporary.
		if _, err := cluster.Discovery().ServerResourcesForGroupVersion(coordinationv1.SchemeGroupVersion.String()); apierrors.IsNotFound(
			err) {
			return errStandalone
		}
		if err := recorder.StartRecordingToSinkWithContext(outlasting); err != nil {
			return err
		}
		defer recorder.Shutdown()
		shell.Printf("ready: waiting for Lease %s as %s", c.Lease, identity)
		return shell.WorkWithLease(running, outlasting, process.Lease{
			Object: c.Lease, Identity: identity, Name: fleet.FieldManager, Duration: leaseDuration, Client: cluster.CoordinationV1(),
		}, servers.Run)
	})
}

const leaseDuration = 15 * time.Second

const primariesAge = 10 * time.Second

type primaries struct {
	of      *Config
	cluster kubernetes.Interface

	mu        sync.Mutex
	readAt    time.Time
	addresses []netip.AddrPort
}

func (p *primaries) findAddresses(ctx context.Context) ([]netip.AddrPort, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// A fleet of a hundred servers asks once in primariesAge.
	if !p.readAt.IsZero() && time.Since(p.readAt) < primariesAge {
		return p.addresses, nil
	}
	at, err := p.of.findPrimaries(ctx, p.cluster)
	if err == nil {
		p.addresses, p.readAt = at, time.Now()
	}
	return at, err
}

// findPrimaries returns the addresses of the hidden primary's Service: each ClusterIP with the first TCP port. Without
// --primary-service, the result is nil.
func (c *Config) findPrimaries(ctx context.Context, cluster kubernetes.Interface) ([]netip.AddrPort, error) {
	if c.PrimaryService.Name == "" {
		return nil, nil
	}
	service, err := cluster.CoreV1().Services(c.PrimaryService.Namespace).Get(ctx, c.PrimaryService.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("--primary-service %s: %w", c.PrimaryService, err)
	}
	var all []netip.AddrPort
	for _, port := range service.Spec.Ports {
		if port.Protocol != corev1.ProtocolTCP {
			continue
		}
		// Both families of a dual-stack Service.
		for _, ip := range service.Spec.ClusterIPs {
			if address, err := netip.ParseAddr(ip); err == nil {
				all = append(all, netip.AddrPortFrom(address, uint16(port.Port)))
			}
		}
		break
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("--primary-service %s: has no ClusterIP with a TCP port", c.PrimaryService)
	}
	return all, nil
}

const catalogTimeout = 5 * time.Second

// askCatalog reports whether a server at the address answers for the SOA of a catalog, signed by the key.
func askCatalog(ctx context.Context, at netip.AddrPort, catalog name.Name, key render.Key) bool {
	signed, err := tsig.NewKey(key.Name, tsig.Algorithm(string(key.Algorithm)+"."), key.Secret)
	if err != nil {
		return false
	}
	_, err = transfer.ReadSerial(ctx, transfer.Source{
		Server: at.String(), Zone: catalog, Wait: catalogTimeout, Key: &transfer.Key{Name: signed.Name, Algorithm: string(signed.Algorithm),
			MAC: signed.MAC},
	})
	return err == nil
}
