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

// Providers are all kinds of provider, by the name of their block in the spec of a DNSClass: one row for each of
// class.Providers, with its package of that name in pkg/delivery, as a test checks.
var Providers = map[string]Kind{
	"bind9":    {New: newBind9},
	"rfc2136":  {New: newRFC2136, NameServers: updatedServer},
	"transfer": {New: newTransfer, NameServers: secondaries},
	"webhook":  {New: newWebhook},
}

// Kind is all that sub-commands know of one kind of provider.
type Kind struct {
	// New makes the provider of a class that has the block (class.NewProvider). Where NameServers is nil it works
	// without sources as far as Verify needs it; verify asks the instances of a class with bind9 itself.
	New func(of *v1alpha1.DNSClass, secret controller.GetSecret, sources Sources) (provider delivery.Provider, target string, err error)
	// NameServers are those that the class names and that answer for its zones, which `verify` asks over DNS. nil: it
	// has the provider itself compare, as the drift check does.
	NameServers func(of *v1alpha1.DNSClass) []NameServer
}

// NameServer is one that a class names.
type NameServer struct {
	// Address is a host or an IP address, with or without a port.
	Address string
	// Key names the Secret with the TSIG key that the server knows the class by; nil: none.
	Key *v1alpha1.SecretReference
	// Guest: the zone has the SOA and the apex NS of the server (verify.Zone.Guest).
	Guest bool
	// Signed: the server signs the zone, or has it from one that does (verify.Zone.Signed).
	Signed bool
}

// Sources are what providers read beside a class and its Secrets, at the moment in which they need it. A
// change of theirs makes no provider anew.
type Sources struct {
	// Members are the zones of each class as primaries show them.
	Members *transferclass.Members
	Views   *zoneview.Set
	Client  versioned.Interface
	// Servers are those of classes with a block bind9, whose keys Secrets has, and Agents the clients of their agents.
	Servers *transferclass.Servers
	Agents  *agents.Agents
	// Zones say which of them are signed; nil: none are.
	Zones   listers.ZoneLister
	Secrets controller.Secrets
	// Keys are those of the classes that have a provider; nil: classes are not compared.
	Keys *transferclass.Keys
}

// ListServers is class.Config.Servers.
func (s Sources) ListServers(of *v1alpha1.DNSClass) []string {
	if of.Spec.Bind9 == nil {
		return nil
	}
	servers, err := s.Servers.Of(of)
	if err != nil {
		return nil
	}
	names := make([]string, len(servers)) // not nil, though there may be none
	for i, server := range servers {
		names[i] = transferclass.RowName(server)
	}
	slices.Sort(names)
	return names
}

// Constructors are those of all kinds, given the sources.
func (s Sources) Constructors() map[string]controller.NewProvider {
	all := make(map[string]controller.NewProvider, len(Providers))
	for block, kind := range Providers {
		all[block] = func(of *v1alpha1.DNSClass, secret controller.GetSecret) (delivery.Provider, string, error) {
			return kind.New(of, secret, s)
		}
	}
	return all
}

// KindOf is the kind of provider that a class has; the zero one where this version knows none of its blocks.
func KindOf(of *v1alpha1.DNSClass) Kind { return Providers[class.ProviderOf(&of.Spec)] }
