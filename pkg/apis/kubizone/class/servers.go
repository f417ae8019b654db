// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"k8s.io/utils/ptr"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

func ModeOf(block *v1alpha1.Bind9Provider) v1alpha1.Bind9Mode {
	return cmp.Or(block.Mode, v1alpha1.Bind9ModeCatalog)
}

// HiddenPrimary names the list of the hidden primary's addresses in a signer's BIND configuration. Zones follow changes
// of the list.
const HiddenPrimary = "kubizone"

// Server is a running Bind9Instance (a BIND 9 server) with the zones of a DNSClass.
type Server struct {
	Namespace, Name string
	UID             types.UID
	Created         time.Time
	// Address answers DNS queries, for example "192.0.2.53" or "192.0.2.53:5353". "" if unknown.
	Address string
	// Key names the Secret with the server's TSIG key. Nil means that the server is recognized by its address.
	Key *v1alpha1.SecretReference
	// Primary and Signer are the role of the instance. Neither is true for a secondary.
	Primary, Signer bool
	Agent           Agent
}

// Agent locates the HTTP server beside a BIND server, for adding and removing zones.
type Agent struct {
	// URL begins with https, or with http if PlainHTTP is true.
	URL       string
	PlainHTTP bool
	Token     v1alpha1.SecretKeyReference
	// Authorities are PEM certificates of CAs that may sign the agent's certificate. If AuthoritiesKey is set, they are
	// in this key of Token's Secret instead. If both are empty, the system's CAs are trusted.
	Authorities    []byte
	AuthoritiesKey string
}

// NameServer is a DNS server that a DNSClass names directly, for the queries of kubizone verify.
type NameServer struct {
	Address string
	// Key names the Secret with the TSIG key for queries. Nil means unsigned queries.
	Key *v1alpha1.SecretReference
	// Guest is true if the server is the primary of another operator, to which Kubizone writes by dynamic updates
	// (RFC 2136). verify then ignores SOA, apex NS and signatures, because they are the server's own.
	Guest bool
	// Signed is true if the zone there is signed by this server or a signer before it.
	Signed bool
}

// NameServersOf returns the servers whose addresses a class's spec lists. Webhook and bind9 classes list none.
func NameServersOf(spec *v1alpha1.DNSClassSpec) (servers []NameServer) {
	switch {
	case spec.RFC2136 != nil:
		servers = append(servers, NameServer{Address: spec.RFC2136.Server, Key: &spec.RFC2136.TSIGSecretRef, Guest: true})
	case spec.Transfer != nil:
		for _, s := range spec.Transfer.Secondaries {
			servers = append(servers, NameServer{Address: s.Address, Key: cmp.Or(s.TSIGSecretRef, spec.Transfer.TSIGSecretRef),
				Signed: s.Signs || s.Signer != ""})
		}
	}
	return servers
}

// ServersOf returns the servers of a class with the provider bind9, sorted by namespace and name. The function
// clusterOf returns a Bind9Cluster, or nil.
func ServersOf(class *v1alpha1.DNSClass, instances []*bind9.Bind9Instance,
	clusterOf func(namespace, name string) *bind9.Bind9Cluster) []Server {
	var servers []Server
	for _, instance := range instances {
		if !selects(class.Spec.Bind9, instance) {
			continue // the next checks are costly, and run for all classes every few seconds
		}
		if server, runs := ServerOf(instance); runs && takesZones(class, instance, clusterOf) {
			servers = append(servers, server)
		}
	}
	slices.SortFunc(servers, func(a, b Server) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	// An instance may be listed twice. A class has each server once (S11.13).
	return slices.CompactFunc(servers, func(a, b Server) bool { return a.UID == b.UID && a.Namespace == b.Namespace && a.Name == b.Name })
}

func selects(block *v1alpha1.Bind9Provider, instance *bind9.Bind9Instance) bool {
	wanted, own := block.ClusterRef, instance.Spec.ClusterRef
	inCluster := wanted != nil && own != nil && instance.Namespace == wanted.Namespace && own.Name == wanted.Name
	return inCluster || slices.ContainsFunc(block.InstancesFrom, func(from v1alpha1.Bind9InstanceSelection) bool {
		// A server gets all zones, and an instance's author chooses its labels, so namespaces are required.
		selector, err := metav1.LabelSelectorAsSelector(&from.Selector)
		return err == nil && slices.Contains(from.Namespaces, instance.Namespace) && selector.Matches(labels.Set(instance.Labels))
	})
}

func ServerNamespaces(of *v1alpha1.DNSClass) []string {
	var all []string
	if ref := of.Spec.Bind9.ClusterRef; ref != nil {
		all = append(all, ref.Namespace)
	}
	for _, from := range of.Spec.Bind9.InstancesFrom {
		all = append(all, from.Namespaces...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ServerOf returns a Bind9Instance's address, agent and TSIG Secret (its own or its cluster's). It returns false if the
// instance is deleted or has zero replicas.
func ServerOf(instance *bind9.Bind9Instance) (server Server, runs bool) {
	if ptr.Deref(instance.Spec.Replicas, 1) == 0 || instance.DeletionTimestamp != nil {
		return Server{}, false
	}
	server = Server{Namespace: instance.Namespace, Name: instance.Name, UID: instance.UID, Created: instance.CreationTimestamp.Time,
		Primary: instance.Spec.Role == bind9.RolePrimary,
		Signer:  instance.Spec.Role == bind9.RoleSigner, Agent: agentOf(instance)}
	var secret string
	if external := instance.Spec.External; external != nil {
		server.Address, secret = external.Address, external.TSIGSecretName
	} else {
		// The fleet writes the address. Until then the server has none.
		server.Address = slices.Concat(instance.Status.Addresses, []string{""})[0]
		secret = keyHolder(instance) + "-tsig"
	}
	if secret != "" {
		server.Key = &v1alpha1.SecretReference{Namespace: instance.Namespace, Name: secret}
	}
	return server, true
}

// keyHolder returns the object after which the fleet names a server's TSIG Secret. Servers of a cluster share a key.
// The signer has another key, by which the primary tells the signer from the secondaries.
func keyHolder(instance *bind9.Bind9Instance) string {
	if ref := instance.Spec.ClusterRef; ref != nil && instance.Spec.Role != bind9.RoleSigner {
		return ref.Name
	}
	return instance.Name
}

// agentOf returns the agent of an instance: Service and Secret by name, or the URL and Secret in spec.external
// (S11.14).
func agentOf(instance *bind9.Bind9Instance) Agent {
	external := instance.Spec.External
	if external == nil {
		name := instance.Name + "-agent"
		return Agent{
			URL: "https://" + name + "." + instance.Namespace + ".svc", AuthoritiesKey: "ca.crt",
			Token: v1alpha1.SecretKeyReference{Namespace: instance.Namespace, Name: name, Key: "token"},
		}
	}
	agent := Agent{URL: external.AgentURL, PlainHTTP: external.AllowPlainHTTP, Authorities: external.CABundle}
	if ref := external.TokenSecretRef; ref != nil {
		agent.Token = v1alpha1.SecretKeyReference{Namespace: instance.Namespace, Name: ref.Name, Key: ref.Key}
	}
	return agent
}

// takesZones reports whether an instance accepts zones of every namespace of the class (spec.zoneNamespaces), because a
// server gets all zones of its catalog.
func takesZones(class *v1alpha1.DNSClass, instance *bind9.Bind9Instance, clusterOf func(namespace, name string) *bind9.Bind9Cluster) bool {
	consents := instance.Spec.ZoneNamespaces
	// An instance without zoneNamespaces takes the zones of the cluster.
	if ref := instance.Spec.ClusterRef; consents == nil && ref != nil {
		if cluster := clusterOf(instance.Namespace, ref.Name); cluster != nil {
			consents = cluster.Spec.ZoneNamespaces
		}
	}

	consents = cmp.Or(consents, &bind9.NamespaceSelection{})
	selector, err := metav1.LabelSelectorAsSelector(consents.Selector) // none selects nothing
	if err != nil {
		selector = labels.Nothing()
	}
	if selector.Empty() { // {} takes all
		return true
	}

	// A default class without namespaces delivers the zones of every namespace, and only selector {} takes all.
	delivers := class.Spec.Namespaces
	if delivers == nil {
		return !IsDefault(class) // other classes deliver no zone
	}
	// Which namespaces two different selectors find may change at any time, so only an equal selector will do.
	if delivers.Selector != nil && !equality.Semantic.DeepEqual(delivers.Selector, consents.Selector) {
		return false
	}
	// Every named namespace needs consent: the instance's own, by name, or by a selector of the label with the name.
	// Only this label is known here.
	consented := append([]string{instance.Namespace}, consents.Names...)
	return !slices.ContainsFunc(delivers.Names, func(name string) bool {
		return !slices.Contains(consented, name) && !selector.Matches(labels.Set{LabelNamespaceName: name})
	})
}
