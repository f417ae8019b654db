// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/pkg/dns/name"
)

func (f *Fleet) listClasses() []*v1alpha1.DNSClass {
	all, _ := f.classes.List(labels.Everything())
	slices.SortFunc(all, func(a, b *v1alpha1.DNSClass) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (f *Fleet) findCluster(namespace, name string) *bind9.Bind9Cluster {
	cluster, err := f.clusters.Bind9Clusters(namespace).Get(name)
	if err != nil {
		return nil
	}
	return cluster
}

func (f *Fleet) classHas(of *v1alpha1.DNSClass, instance *bind9.Bind9Instance) bool {
	return len(apiclass.ServersOf(of, []*bind9.Bind9Instance{instance}, f.findCluster)) == 1
}

// findKeyNaming returns a class through which agents create zones at the members, or nil. Such zones name the transfer
// key, which then cannot be replaced.
func (f *Fleet) findKeyNaming(members []*bind9.Bind9Instance) *v1alpha1.DNSClass {
	for _, class := range f.listClasses() {
		if class.Spec.Bind9 != nil && apiclass.ModeOf(class.Spec.Bind9) != v1alpha1.Bind9ModeCatalog &&
			slices.ContainsFunc(members, func(one *bind9.Bind9Instance) bool { return f.classHas(class, one) }) {
			return class
		}
	}
	return nil
}

// listCatalogs returns the catalog zones of a server, each name once, in the order of names. A signer follows none: the
// agent makes the signed zones.
func (f *Fleet) listCatalogs(instance *bind9.Bind9Instance, cluster *bind9.Bind9Cluster, server *render.Server) []render.Catalog {
	if server.Role == bind9.RoleSigner {
		return nil
	}
	classes := f.listClasses()
	if cluster != nil && apiclass.InUse(cluster) {
		classes = append(classes, apiclass.OfCluster(cluster))
	}

	signedAt := map[name.Name]netip.AddrPort{}
	for _, class := range classes {
		// The catalog of a deleted class goes, and with the catalog the members.
		if class.DeletionTimestamp != nil {
			continue
		}
		if zone, err := name.Parse(f.catalogOf(class, instance, server)); err == nil {
			// Several classes may share a catalog. The last with a signer names the primary of signed members.
			signedAt[zone] = cmp.Or(f.findSigner(class, server), signedAt[zone])
		}
	}

	var catalogs []render.Catalog
	for zone, signer := range signedAt {
		catalogs = append(catalogs, render.Catalog{Zone: zone, Signer: signer})
	}

	slices.SortFunc(catalogs, func(a, b render.Catalog) int { return a.Zone.Compare(b.Zone) })
	return catalogs
}

// catalogOf returns the catalog zone of a class if the server follows it, and otherwise "". A class with transfer has
// the server if an element of secondaries names the server's TSIG Secret.
func (f *Fleet) catalogOf(class *v1alpha1.DNSClass, instance *bind9.Bind9Instance, server *render.Server) string {
	if block := class.Spec.Bind9; block != nil && f.classHas(class, instance) {
		return block.CatalogZone
	}
	block, key := class.Spec.Transfer, keyOf(server)
	if block != nil && slices.ContainsFunc(block.Secondaries, func(secondary v1alpha1.Secondary) bool {
		ref := cmp.Or(secondary.TSIGSecretRef, block.TSIGSecretRef)
		return ptr.Equal(ref, &key) && secondary.Catalog != v1alpha1.CatalogIgnore
	}) {
		return block.CatalogZone
	}
	return ""
}

func keyOf(server *render.Server) v1alpha1.SecretReference {
	return v1alpha1.SecretReference{Namespace: server.Namespace, Name: render.TransferSecretName(server.Group())}
}

// findSigner returns the DNS address of the signer in the server's own cluster; zero if the class is another cluster's,
// or the signer has no address yet.
func (f *Fleet) findSigner(of *v1alpha1.DNSClass, server *render.Server) netip.AddrPort {
	own := v1alpha1.Bind9ClusterReference{Namespace: server.Namespace, Name: server.Cluster}
	if of.Spec.Bind9 == nil || !ptr.Equal(of.Spec.Bind9.ClusterRef, &own) {
		return netip.AddrPort{}
	}
	for _, instance := range f.instancesOf(server.Namespace, server.Cluster) {
		if of, runs := apiclass.ServerOf(instance); runs && of.Signer {
			at, _ := netip.ParseAddrPort(of.Address) // zero until the Service has an address
			return at
		}
	}
	return netip.AddrPort{}
}

// listUnkeyed returns the primaries from which a server with a bindcar transfers without a TSIG key. A bindcar, another
// project's agent, cannot name a key in a zone.
func (f *Fleet) listUnkeyed(server *render.Server) []netip.Addr {
	if server.Agent() != bind9.AgentBindcar || server.Role == bind9.RoleSigner {
		return nil
	}
	instances, _ := f.instances.Bind9Instances(server.Namespace).List(labels.Everything())
	var unkeyed []netip.Addr
	for _, class := range f.listClasses() {
		if class.DeletionTimestamp != nil || class.Spec.Bind9 == nil {
			continue
		}
		if apiclass.ModeOf(class.Spec.Bind9) == v1alpha1.Bind9ModeCatalog {
			continue
		}
		servers := apiclass.ServersOf(class, instances, f.findCluster)
		isServer := slices.ContainsFunc(servers, func(other apiclass.Server) bool { return other.Name == server.Name })
		if !isServer {
			continue
		}
		for _, text := range listPrimaries(class.Spec.Bind9, servers, server) {
			if address, ok := readAddress(text); ok {
				unkeyed = append(unkeyed, address)
			}
		}
	}
	slices.SortFunc(unkeyed, netip.Addr.Compare)
	return slices.Compact(unkeyed)
}

// listPrimaries returns the texts of the addresses from which a class lets a server transfer. In mode Update, a
// secondary also transfers from the primaries with its TSIG key.
func listPrimaries(block *v1alpha1.Bind9Provider, servers []apiclass.Server, server *render.Server) []string {
	addresses := slices.Clone(block.Primaries)
	if server.Role != bind9.RoleSecondary || apiclass.ModeOf(block) != v1alpha1.Bind9ModeUpdate {
		return addresses
	}
	shared := keyOf(server)
	for _, one := range servers {
		if one.Primary && ptr.Equal(one.Key, &shared) {
			addresses = append(addresses, one.Address)
		}
	}
	return addresses
}

func readAddress(text string) (netip.Addr, bool) {
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Addr(), true
	}
	at, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return at, err == nil && at.Zone() == ""
}
