// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transferclass

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	informers "kubi.zone/kubizone/api/client/informers/externalversions/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/dns/tsig"
)

// Servers reads the BIND 9 servers of classes with a block bind9. Without their API group, only other classes are
// served.
type Servers struct {
	instances informers.Bind9InstanceInformer
	clusters  informers.Bind9ClusterInformer
}

const serversWait = 10 * time.Second

func NewServers(all externalversions.SharedInformerFactory) *Servers {
	s := &Servers{all.Bind9().V1alpha1().Bind9Instances(), all.Bind9().V1alpha1().Bind9Clusters()}
	s.instances.Informer()
	s.clusters.Informer()
	return s
}

var errUnlisted = errors.New("the Bind9Instances are not listed yet: the APIService v1alpha1.bind9.kubi.zone has to be there, " +
	"and the right to list them (charts/kubizone has both)")

// hasInstances reports whether the Bind9Instances are listed; never for nil.
func (s *Servers) hasInstances() bool { return s != nil && s.instances.Informer().HasSynced() }

// ListServers returns the servers of a class with a block bind9. The error is errUnlisted until both informers have
// listed their objects.
func (s *Servers) ListServers(of *v1alpha1.DNSClass) ([]apiclass.Server, error) {
	if !s.hasInstances() || !s.clusters.Informer().HasSynced() {
		return nil, errUnlisted
	}
	var instances []*bind9.Bind9Instance
	for _, namespace := range apiclass.ServerNamespaces(of) {
		in, err := s.instances.Lister().Bind9Instances(namespace).List(labels.Everything())
		if err != nil {
			return nil, err
		}
		instances = append(instances, in...)
	}
	return apiclass.ServersOf(of, instances, s.Cluster), nil
}

// Find returns the server of a Bind9Instance. The result running is false if the instance is absent, stopped or under
// deletion. An error means that instances are not listed yet.
func (s *Servers) Find(namespace, name string) (server apiclass.Server, running bool, err error) {
	if !s.hasInstances() {
		return apiclass.Server{}, false, errUnlisted
	}
	instance, err := s.instances.Lister().Bind9Instances(namespace).Get(name)
	if err != nil {
		return apiclass.Server{}, false, nil //nolint:nilerr // it is not there
	}
	server, running = apiclass.ServerOf(instance)
	return server, running, nil
}

// ListSigners returns the running DNSSEC signers of all fleets, without external servers. The result is nil until the
// informer has listed the Bind9Instances.
func (s *Servers) ListSigners() (signers []apiclass.Server) {
	if !s.hasInstances() {
		return nil
	}
	all, _ := s.instances.Lister().List(labels.Everything()) // a cache returns no error
	for _, instance := range all {
		if server, _ := apiclass.ServerOf(instance); server.Signer && instance.Spec.External == nil {
			signers = append(signers, server)
		}
	}
	return signers
}

type Selected struct {
	Peers
	Servers []apiclass.Server // of Peers.Secondaries, in that order
	Waiting []WaitingServer
}

// WaitingServer has no address (Err is nil), or no usable key.
type WaitingServer struct {
	apiclass.Server
	Err *delivery.Error
}

func RowName(server apiclass.Server) string { return server.Namespace + "/" + server.Name }

func (s *Servers) classOf(namespace, name string) *v1alpha1.DNSClass {
	cluster := s.Cluster(namespace, name)
	if cluster == nil || !apiclass.InUse(cluster) {
		return nil
	}
	return apiclass.OfCluster(cluster)
}

func (s *Servers) listClasses() (all []*v1alpha1.DNSClass) {
	clusters, _ := s.clusters.Lister().List(labels.Everything()) // a cache returns no error
	for _, cluster := range clusters {
		if apiclass.InUse(cluster) {
			all = append(all, apiclass.OfCluster(cluster))
		}
	}
	return all
}

// waitForSync waits at most serversWait, because the APIService of servers may be absent.
func (s *Servers) waitForSync(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, serversWait)
	defer cancel()
	cache.WaitForCacheSync(ctx.Done(), s.instances.Informer().HasSynced, s.clusters.Informer().HasSynced)
}

type keyed struct {
	apiclass.Server
	keys []tsig.Key
}

// ReadServers is ReadPeers for a class with a block bind9. Secondaries are named NAMESPACE/NAME. A server without
// address, readable key, or right to the key's name waits, and the others are served.
func ReadServers(of *v1alpha1.DNSClass, servers []apiclass.Server, held *Keys, secret secrets.GetFunc) (Selected, error) {
	block := &v1alpha1.TransferProvider{CatalogZone: of.Spec.Bind9.CatalogZone}
	var s Selected
	var read []keyed
	waiting := map[string]*delivery.Error{} // by the names of rows
	// Read the keys of the servers.
	for _, server := range servers {
		if server.Address == "" || server.Key == nil {
			continue
		}
		key, others, err := secrets.ReadTSIGKeys(*server.Key, secret)
		var failure *delivery.Error
		switch {
		case err == nil:
			// Keys accepted in a rotation count like the signing key.
			read = append(read, keyed{server, append(others, key)})
		case errors.Is(err, secrets.ErrNotFound):
			waiting[RowName(server)] = waitFor(server, delivery.ReasonSecretNotFound, "has no TSIG key: there is no Secret %s/%s",
				server.Key.Namespace, server.Key.Name)
		case apierrors.IsForbidden(err):
			// The server's namespace may withdraw this right.
			waiting[RowName(server)] = waitFor(server, delivery.ReasonAuthenticationFailed, "has a TSIG key that may not be read: give "+
				"the controller and the primary the right to get the Secret %s/%s", server.Key.Namespace, server.Key.Name)
		case errors.As(err, &failure):
			waiting[RowName(server)] = waitFor(server, failure.Reason, "has no TSIG key: %s", failure.Message)
		default:
			return Selected{}, err
		}
	}
	// A server also waits if a class, or an earlier server, has another key of the name. Keys named for another
	// namespace come last.
	slices.SortStableFunc(read, func(a, b keyed) int {
		return cmp.Or(cmp.Compare(countForeign(a.Namespace, a.keys), countForeign(b.Namespace, b.keys)), a.Created.Compare(b.Created))
	})
	named := map[string]keyed{} // by key name
	for _, server := range read {
		for _, key := range server.keys {
			why := held.denyReason(of, server.Namespace, key)
			first, known := named[key.Name]
			if why == "" && known && !slices.ContainsFunc(first.keys, func(other tsig.Key) bool { return sameKey(other, key) }) {
				why = RowName(first.Server) + " has another key of that name"
			}
			if why != "" {
				waiting[RowName(server.Server)] = waitFor(server.Server, delivery.ReasonInvalidConfiguration, "has the TSIG key %s, and "+
					"%s; a signature identifies its key by the name alone; rename the key of the server, in the Secret %s/%s and at the "+
					"server", key, why, server.Key.Namespace, server.Key.Name)
			}
		}
		for _, key := range server.keys {
			if _, known := named[key.Name]; !known && waiting[RowName(server.Server)] == nil {
				named[key.Name] = server
			}
		}
	}
	for _, server := range servers {
		// The primary gives the unsigned zone to the key of the signer. A server with the same key would get it, too.
		if server.Signer && waiting[RowName(server)] == nil && server.Address != "" && !hasOwnKey(server, read) {
			waiting[RowName(server)] = waitFor(server, delivery.ReasonInvalidConfiguration, "signs zones, so it needs a TSIG key that no "+
				"other server has; name a Secret of its own in external.tsigSecretName of the Bind9Instance")
		}
	}
	for _, server := range servers {
		// A server without an address waits without an error, because its pod may not run yet.
		if err := waiting[RowName(server)]; err != nil || server.Address == "" {
			s.Waiting = append(s.Waiting, WaitingServer{server, err})
			continue
		}
		block.Secondaries = append(block.Secondaries, v1alpha1.Secondary{Address: server.Address, TSIGSecretRef: server.Key})
		s.Servers = append(s.Servers, server)
	}
	var err error
	if s.Peers, err = readBlock(of, block, secret); err != nil {
		return Selected{}, err
	}
	for i, server := range s.Servers {
		s.Peers.Secondaries[i].Name = RowName(server)
	}
	return s, s.markSigners(secret)
}

func hasOwnKey(signer apiclass.Server, read []keyed) bool {
	at := slices.IndexFunc(read, func(one keyed) bool { return RowName(one.Server) == RowName(signer) })
	return at >= 0 && !slices.ContainsFunc(read, func(other keyed) bool {
		return RowName(other.Server) != RowName(signer) && slices.ContainsFunc(other.keys, func(key tsig.Key) bool {
			return slices.ContainsFunc(read[at].keys, func(own tsig.Key) bool { return sameKey(own, key) })
		})
	})
}

func waitFor(server apiclass.Server, reason delivery.Reason, format string, arguments ...any) *delivery.Error {
	return &delivery.Error{Reason: reason, Message: RowName(server) + " " + fmt.Sprintf(format, arguments...)}
}

func countForeign(namespace string, keys []tsig.Key) (n int) {
	for _, key := range keys {
		if !isForServer(namespace, key) {
			n++
		}
	}
	return n
}
