// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivering

import (
	"context"
	"fmt"
	"sync"
	"time"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/controller/class"
	"kubi.zone/kubizone/pkg/controller/transferclass"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/bind9"
	"kubi.zone/kubizone/pkg/dns/name"
)

const (
	// serversAge is how long the servers of a class are taken to be as they were read: each zone asks for them, and
	// their keys stand in Secrets that are read one by one.
	serversAge = 5 * time.Second
	// serversTimeout bounds one read.
	serversTimeout = 10 * time.Second
)

func newBind9(of *v1alpha1.DNSClass, _ class.GetSecret, sources Sources) (delivery.Provider, string, error) {
	catalog, err := name.Parse(of.Spec.Bind9.CatalogZone)
	if err != nil {
		return nil, "", delivery.Errorf(delivery.ReasonInvalidConfiguration, "bind9.catalogZone: %w", err)
	}
	servers := &readServers{of: of, sources: sources}
	peers, _, _ := servers.readPeers() // without any of them the class says so at each zone
	peers.Catalog, peers.Secondaries = catalog, nil
	provider, err := bind9.New(bind9.Config{Mode: bind9.Catalog, Instances: servers.listInstances, Shown: shownBy(of, peers, sources)})
	if err != nil {
		return nil, "", err
	}
	// The servers come and go; what a zone needs of them is said by their rows.
	return provider, fmt.Sprintf("bind9 by %s, catalog %s", of.Name, catalog), nil
}

// readServers reads the servers of a class.
type readServers struct {
	of      *v1alpha1.DNSClass
	sources Sources

	mu      sync.Mutex
	at      time.Time
	peers   transferclass.Peers
	waiting []string
}

// listInstances returns the servers now, those without an address or a key last.
func (r *readServers) listInstances() ([]bind9.Instance, error) {
	peers, waiting, err := r.readPeers()
	if err != nil {
		return nil, err
	}
	members := make([]bind9.Instance, 0, len(peers.Secondaries)+len(waiting))
	for _, s := range peers.Secondaries {
		members = append(members, bind9.Instance{Name: s.Name, DNS: s.Addr, Key: s.Key})
	}
	for _, name := range waiting {
		members = append(members, bind9.Instance{Name: name})
	}
	return members, nil
}

func (r *readServers) readPeers() (transferclass.Peers, []string, error) {
	if r.sources.Servers == nil {
		return transferclass.Peers{}, nil, delivery.ErrCannotList // `kubizone verify` follows no Bind9Instances
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.at.IsZero() && time.Since(r.at) < serversAge {
		return r.peers, r.waiting, nil
	}
	servers, err := r.sources.Servers.Of(r.of)
	if err != nil {
		return transferclass.Peers{}, nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), serversTimeout)
	defer cancel()
	peers, waiting, err := transferclass.ReadServers(r.of, servers, func(namespace, name string) (map[string][]byte, error) {
		return r.sources.Secrets.Get(ctx, namespace, name)
	})
	if err != nil {
		return transferclass.Peers{}, nil, err
	}
	r.at, r.peers, r.waiting = time.Now(), peers, waiting
	return peers, waiting, nil
}
