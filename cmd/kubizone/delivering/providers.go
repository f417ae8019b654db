// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivering

import (
	"slices"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	listers "kubi.zone/kubizone/api/client/listers/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/provider"
	"kubi.zone/kubizone/pkg/bind9/agents"
	controller "kubi.zone/kubizone/pkg/delivery/controller/class"
	"kubi.zone/kubizone/pkg/delivery/controller/transferclass"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

// Sources are the inputs of providers beside a DNSClass and Secrets. A provider reads a source when needed, so a change
// there recreates no provider.
type Sources struct {
	// Members has the zones of each class, as primaries serve them.
	Members *transferclass.Members
	Views   *zoneview.Set
	Client  versioned.Interface
	// Servers has the BIND servers of each class, Agents the clients of the agents beside them.
	Servers *transferclass.Servers
	Agents  *agents.Agents
	// Zones tells which zones are signed. If nil, no zone counts as signed.
	Zones   listers.ZoneLister
	Secrets secrets.Reader
	// Keys has the TSIG keys of all classes. If nil, conflicts between their names are not checked.
	Keys *transferclass.Keys
}

// ListServers returns the names of the class's BIND servers, nil if the class has none or they cannot be read.
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

func (s Sources) Constructors() map[string]controller.NewProvider {
	all := map[string]controller.NewProvider{"bind9": s.newBind9, "transfer": s.newTransfer}
	for block, constructor := range provider.Providers {
		all[block] = constructor
	}
	return all
}
