// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivering

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/bind9/provider"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/controller/transferclass"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/transfer"
)

const (
	serversAge     = 5 * time.Second
	serversTimeout = 10 * time.Second
)

// newBind9 returns the provider of a class with BIND servers, and a description of its target. The description omits
// the servers, because they change at any time.
func (s Sources) newBind9(dnsClass *v1alpha1.DNSClass, _ secrets.GetFunc) (delivery.Provider, string, error) {
	block := dnsClass.Spec.Bind9
	servers := &readServers{class: dnsClass, sources: s}
	if apiclass.ModeOf(block) == v1alpha1.Bind9ModeUpdate {
		return provider.NewUpdater(provider.UpdateConfig{Instances: servers.listInstances,
			Dial: dial.New(dnsClass.Spec.AllowLocalAddresses).DialContext}), fmt.Sprintf("bind9 by %s, updates", dnsClass.Name), nil
	}
	config, target := provider.Config{
		Instances: servers.listInstances,
		Signed:    s.matchZone(dnsClass.Name, transferclass.IsBySigner), Signing: s.matchZone(dnsClass.Name, transferclass.IsBeingSigned),
	}, ""
	var catalog name.Name
	if apiclass.ModeOf(block) == v1alpha1.Bind9ModeCatalog {
		var err error
		if catalog, err = name.Parse(block.CatalogZone); err != nil {
			return nil, "", delivery.Errorf(delivery.ReasonInvalidConfiguration, "bind9.catalogZone: %w", err)
		}
		target = fmt.Sprintf("bind9 by %s, catalog %s", dnsClass.Name, catalog)
	} else {
		for i, text := range block.Primaries {
			address, err := transfer.ParseAddress(text)
			if err != nil {
				return nil, "", delivery.Errorf(delivery.ReasonInvalidConfiguration, "bind9.primaries[%d]: %w", i, err)
			}
			config.Primaries = append(config.Primaries, address)
		}
		// The order of the list is no change of the target.
		slices.SortFunc(config.Primaries, netip.AddrPort.Compare)
		target = fmt.Sprintf("bind9 by %s, from %v", dnsClass.Name, config.Primaries)
	}
	config.Transfer = s.shownBy(dnsClass, transferclass.Peers{Catalog: catalog})
	provider, err := provider.New(config)
	if err != nil {
		return nil, "", err
	}
	return &keyHolder{provider, servers.release}, target, nil
}

func (s Sources) matchZone(class string, holds func(*v1alpha1.Zone) bool) func(uid string) bool {
	return func(uid string) bool {
		zone := s.findZone(class, uid)
		return zone != nil && holds(zone)
	}
}

func (s Sources) findZone(class, uid string) *v1alpha1.Zone {
	if s.Zones == nil {
		return nil
	}
	at, ok := s.Members.Zone(class, uid)
	if !ok {
		return nil
	}
	zone, err := s.Zones.Zones(at.Namespace).Get(at.Name)
	if err != nil || string(zone.UID) != uid {
		return nil
	}
	return zone
}

type readServers struct {
	class   *v1alpha1.DNSClass
	sources Sources

	mu       sync.Mutex
	readAt   time.Time
	selected transferclass.Selected
	// leaving caches the servers that left the class; a nil server no longer runs.
	leaving     map[string]*provider.Instance
	releaseKeys func()
}

// listInstances returns the servers of the class and, of the known rows of a Delivery, those that have left the class
// but still run, marked as Leaving. Both are cached for serversAge. It takes mu.
func (r *readServers) listInstances(known []string) ([]provider.Instance, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.readSelected(); err != nil {
		return nil, err
	}
	instances := r.toInstances(r.selected)
	selected := map[string]bool{}
	for _, instance := range instances {
		selected[instance.Name] = true
	}
	for _, row := range known {
		if selected[row] || r.byCatalog() {
			continue // servers that follow the catalog remove the zone themselves
		}
		left, read := r.leaving[row]
		if !read {
			var err error
			if left, err = r.readLeaving(row); err != nil {
				return nil, err
			}
			r.leaving[row] = left
		}
		if left != nil {
			instances = append(instances, *left)
		}
	}
	return instances, nil
}

func (r *readServers) byCatalog() bool {
	return apiclass.ModeOf(r.class.Spec.Bind9) == v1alpha1.Bind9ModeCatalog
}

// toInstances returns the instances of the selected servers. A server that waits, for example for its key, has Err.
func (r *readServers) toInstances(selected transferclass.Selected) []provider.Instance {
	instances := make([]provider.Instance, 0, len(selected.Servers)+len(selected.Waiting))
	for i, server := range selected.Servers {
		if server.Signer && !r.byCatalog() {
			continue // other modes sign nothing
		}
		shown := selected.Peers.Secondaries[i]
		instances = append(instances, provider.Instance{Name: shown.Name, DNS: shown.Addr, Key: shown.Key, Primary: server.Primary,
			Signer: server.Signer})
		r.addAgent(&instances[len(instances)-1], server)
	}
	for _, server := range selected.Waiting {
		if server.Signer && !r.byCatalog() {
			continue
		}
		instances = append(instances, provider.Instance{Name: transferclass.RowName(server.Server), Primary: server.Primary,
			Signer: server.Signer, Err: server.Err})
		r.addAgent(&instances[len(instances)-1], server.Server)
	}
	return instances
}

func (r *readServers) addAgent(instance *provider.Instance, server apiclass.Server) {
	if r.byCatalog() {
		return
	}
	agent, err := r.sources.Agents.ClientOf(server, r.class.Spec.AllowLocalAddresses)
	if err != nil {
		return // without an agent
	}
	instance.Agent = agent
}

// readSelected reads the servers of the class and their keys, at most each serversAge. The caller holds mu.
func (r *readServers) readSelected() error {
	if !r.readAt.IsZero() && time.Since(r.readAt) < serversAge {
		return nil
	}
	servers, err := r.sources.Servers.ListServers(r.class)
	if err != nil {
		return err
	}
	keys := r.sources.Keys
	if apiclass.ModeOf(r.class.Spec.Bind9) == v1alpha1.Bind9ModeUpdate {
		keys = nil // no primary of Kubizone has the keys
	}
	selected, err := r.readKeys(servers, keys)
	if err != nil {
		return err
	}
	r.readAt, r.selected, r.leaving = time.Now(), selected, map[string]*provider.Instance{}
	if keys != nil {
		// Other classes see these keys, for conflicts between names of keys.
		r.releaseKeys = keys.Hold(r.class, selected.Peers)
	}
	return nil
}

func (r *readServers) readKeys(servers []apiclass.Server, keys *transferclass.Keys) (transferclass.Selected, error) {
	ctx, cancel := context.WithTimeout(context.Background(), serversTimeout)
	defer cancel()
	return transferclass.ReadServers(r.class, servers, keys, func(namespace, name string) (map[string][]byte, error) {
		return r.sources.Secrets.Get(ctx, namespace, name)
	})
}

// readLeaving returns a server that has left the class, or nil if it no longer runs.
func (r *readServers) readLeaving(row string) (*provider.Instance, error) {
	namespace, name, _ := strings.Cut(row, "/")
	server, runs, err := r.sources.Servers.Find(namespace, name)
	if err != nil || !runs {
		return nil, err
	}
	selected, err := r.readKeys([]apiclass.Server{server}, nil)
	if err != nil {
		return nil, err
	}
	left := r.toInstances(selected)[0]
	left.Leaving = true
	return &left, nil
}

func (r *readServers) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.releaseKeys != nil {
		r.releaseKeys()
	}
}
