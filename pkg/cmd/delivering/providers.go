// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivering

import (
	"slices"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	listers "kubi.zone/kubizone/api/client/listers/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/bind9/agents"
	controller "kubi.zone/kubizone/pkg/controller/class"
	"kubi.zone/kubizone/pkg/controller/transferclass"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/zoneview"
)

// Providers are the kinds of provider by their block in a DNSClass. A test compares them with class.Providers and
// pkg/delivery.
var Providers = map[string]Kind{
	"bind9":    {New: newBind9},
	"rfc2136":  {New: newRFC2136, NameServers: updatedServer},
	"transfer": {New: newTransfer, NameServers: secondaries},
	"webhook":  {New: newWebhook},
}

// Kind is a kind of provider.
type Kind struct {
	// New creates the provider of a class (class.NewProvider). If NameServers is nil, Verify must work without sources,
	// except for bind9.
	New func(of *v1alpha1.DNSClass, secret controller.GetSecret, sources Sources) (provider delivery.Provider, target string, err error)
	// NameServers returns the servers for queries of kubectl kubizone verify; nil if the provider compares the zone.
	NameServers func(of *v1alpha1.DNSClass) []NameServer
}

// NameServer is a server of a class.
type NameServer struct {
	Address string
	Key     *v1alpha1.SecretReference
	// Guest is true if SOA and apex NS are the server's own.
	Guest bool
	// Signed is true if the server signs the zone, or transfers it signed.
	Signed bool
}

// Sources are further inputs, read when needed: changes recreate no provider.
type Sources struct {
	// Members are each class's zones as served by primaries.
	Members *transferclass.Members
	Views   *zoneview.Set
	Client  versioned.Interface
	// Servers are the BIND servers of classes, Agents the clients of their agents.
	Servers *transferclass.Servers
	Agents  *agents.Agents
	// Zones may be nil: then no zone counts as signed.
	Zones   listers.ZoneLister
	Secrets controller.Secrets
	// Keys are the TSIG keys of classes; if nil, conflicts of names are not checked.
	Keys *transferclass.Keys
}

// ListServers implements class.Config.Servers.
func (s Sources) ListServers(of *v1alpha1.DNSClass) []string {
	if of.Spec.Bind9 == nil {
		return nil
	}
	servers, err := s.Servers.ListServers(of)
	if err != nil {
		return nil
	}
	names := make([]string, len(servers)) // not nil, even if empty
	for i, server := range servers {
		names[i] = transferclass.RowName(server)
	}
	slices.Sort(names)
	return names
}

// Constructors returns Kind.New of each provider by block, with s as the sources.
func (s Sources) Constructors() map[string]controller.NewProvider {
	all := make(map[string]controller.NewProvider, len(Providers))
	for block, kind := range Providers {
		all[block] = func(of *v1alpha1.DNSClass, secret controller.GetSecret) (delivery.Provider, string, error) {
			return kind.New(of, secret, s)
		}
	}
	return all
}

// KindOf returns the kind of a class's provider; zero without a known block.
func KindOf(of *v1alpha1.DNSClass) Kind { return Providers[class.ProviderOf(&of.Spec)] }
