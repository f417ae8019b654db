// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transferclass

import (
	"errors"

	"k8s.io/apimachinery/pkg/labels"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	informers "kubi.zone/kubizone/api/client/informers/externalversions/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/controller/class"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/primary"
)

// Servers are the BIND 9 servers of classes with a block bind9, as informers have them. A server whose group of the API
// is not registered has none, and serves its other classes.
type Servers struct {
	instances informers.Bind9InstanceInformer
	clusters  informers.Bind9ClusterInformer
}

// NewServers registers with informers that the caller starts.
func NewServers(all externalversions.SharedInformerFactory) *Servers {
	s := &Servers{all.Bind9().V1alpha1().Bind9Instances(), all.Bind9().V1alpha1().Bind9Clusters()}
	s.instances.Informer()
	s.clusters.Informer()
	return s
}

// errUnlisted says that it is not known which servers there are.
var errUnlisted = errors.New("the Bind9Instances are not listed yet: the APIService v1alpha1.bind9.kubi.zone has to be there, and the right to list them (charts/kubizone has both)")

// Of returns the servers of a class with a block bind9.
func (s *Servers) Of(of *v1alpha1.DNSClass) ([]apiclass.Server, error) {
	if s == nil || !s.instances.Informer().HasSynced() || !s.clusters.Informer().HasSynced() {
		return nil, errUnlisted
	}
	instances, err := s.instances.Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	return apiclass.ServersOf(of, instances, func(namespace, name string) *bind9.Bind9Cluster {
		cluster, err := s.clusters.Lister().Bind9Clusters(namespace).Get(name)
		if err != nil {
			return nil
		}
		return cluster
	}), nil
}

// Find returns a Bind9Instance as a server, whether or not a class selects it. runs is false of one that is not there,
// is being deleted or is stopped.
func (s *Servers) Find(namespace, name string) (server apiclass.Server, runs bool) {
	instance, err := s.instances.Lister().Bind9Instances(namespace).Get(name)
	if err != nil {
		return apiclass.Server{}, false
	}
	return apiclass.ServerOf(instance)
}

// ReadServers is ReadPeers for a class with a block bind9: its servers are known and told as secondaries are. The names
// of the Secondaries are NAMESPACE/NAME. waiting are those without an address or a key of their own yet: a server
// that is being made keeps the class from none of the others.
func ReadServers(of *v1alpha1.DNSClass, servers []apiclass.Server, secret class.GetSecret) (peers Peers, waiting []string, err error) {
	block := &v1alpha1.TransferProvider{CatalogZone: of.Spec.Bind9.CatalogZone}
	var names []string
	type named struct {
		ref *v1alpha1.SecretReference
		key primary.Key
	}
	keys := map[string]named{}
	for _, server := range servers {
		name := server.Namespace + "/" + server.Name
		if server.Address == "" {
			waiting = append(waiting, name)
			continue
		}
		if server.Key != nil {
			var failure *delivery.Error
			key, err := Key(*server.Key, secret)
			switch {
			case errors.Is(err, class.ErrSecretNotFound), errors.As(err, &failure):
				waiting = append(waiting, name)
				continue
			case err != nil:
				return Peers{}, nil, err
			}
			// A server that has another key of a name than one before it keeps none of the others from the class.
			first, known := keys[key.Name]
			switch {
			case !known:
				keys[key.Name] = named{server.Key, key}
			case sameKey(first.key, key):
				server.Key = first.ref
			default:
				waiting = append(waiting, name)
				continue
			}
		}
		block.Secondaries = append(block.Secondaries, v1alpha1.Secondary{Address: server.Address, TSIGSecretRef: server.Key})
		names = append(names, name)
	}
	if peers, err = readBlock(of, block, secret); err != nil {
		return Peers{}, nil, err
	}
	for i, name := range names {
		peers.Secondaries[i].Name = name
	}
	return peers, waiting, nil
}
