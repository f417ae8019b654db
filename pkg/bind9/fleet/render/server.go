// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
)

// Server is one BIND server, with all that its objects follow from.
type Server struct {
	Namespace, Name string
	// UID of the Bind9Instance.
	UID types.UID
	// Cluster names the Bind9Cluster; "": the server stands alone.
	Cluster string
	Role    bind9.Role
	// Replicas is 0 or 1.
	Replicas int32
	// Settings are those of the instance and, block by block, of the cluster.
	Settings  bind9.ServerSettings
	Service   bind9.Service
	Resources bind9.Resources

	// Control is the key of the control channel. A running BIND cannot be told of another one.
	Control  Key
	Transfer TransferKeys
	// Peers are the TSIG keys by which servers transfer zones from a signer: those of its cluster. nil: none.
	Peers  *TransferKeys
	Access Access
	// Hidden are the addresses of the hidden primary, from which a signer transfers what it signs.
	Hidden []netip.AddrPort
	// Unkeyed are primaries of zones that name no key for them, because the agent has no word for one (Bindcar). Each
	// is there once.
	Unkeyed []netip.Addr
	// Policies are those by which a signer signs zones.
	Policies []bind9.DNSSECPolicy
	// Catalogs are those that the server follows, with the address of their primary.
	Catalogs []Catalog
	Platform Platform
}

// Access is how clients reach the agent: what they show, and the certificate that it shows, in PEM.
type Access struct {
	Token                              string
	Certificate, PrivateKey, Authority []byte
}

// AgentHost is the host in the certificate of an agent, the name of its Service.
func AgentHost(namespace, instance string) string {
	return instance + "-agent." + namespace + ".svc"
}

// Platform is what the installation says of all servers.
type Platform struct {
	// Installation marks the objects: those of another installation in the cluster are never touched.
	Installation string
	// BINDRepository and AgentImage are the images where no other is named.
	BINDRepository, AgentImage string
	// ClientNamespace is the one from which the agents are reached.
	ClientNamespace string
	// KeyReaders are ServiceAccounts that may read the TSIG keys of servers: the controller and the hidden primary.
	KeyReaders []types.NamespacedName
	// AgentReaders are ServiceAccounts that may read the tokens of the agents of signers: the controller.
	AgentReaders []types.NamespacedName
}

// Catalog is a catalog zone (RFC 9432) and where it is transferred from.
type Catalog struct {
	Zone      name.Name
	Primaries []netip.AddrPort
	// Signer is where members are transferred from that the primaries do not hand out, because they are signed; zero:
	// there is none.
	Signer netip.AddrPort
}

// bindcarImage is the image of a bindcar where no other is named.
const bindcarImage = "ghcr.io/firestoned/bindcar:v0.9.0"

// DefaultVersion is BIND's release series where none is said.
const DefaultVersion = "9.20"

// Merge returns the server that an instance describes in its cluster; cluster is nil for one that stands alone. Keys,
// catalogs and platform are left to the caller.
func Merge(instance *bind9.Bind9Instance, cluster *bind9.Bind9Cluster) Server {
	s := Server{
		Namespace: instance.Namespace, Name: instance.Name, UID: instance.UID, Role: instance.Spec.Role,
		Replicas: bind9.DefaultInstanceReplicas,
		Settings: *instance.Spec.ServerSettings.DeepCopy(),
	}
	if instance.Spec.Replicas != nil {
		s.Replicas = *instance.Spec.Replicas
	}
	service, resources := instance.Spec.Service, instance.Spec.Resources
	if cluster != nil {
		s.Cluster = cluster.Name
		own, common := &s.Settings, cluster.Spec.ServerSettings.DeepCopy()
		own.Version = cmp.Or(own.Version, common.Version)
		own.Image, own.Config, own.Agent = cmp.Or(own.Image, common.Image), cmp.Or(own.Config, common.Config),
			cmp.Or(own.Agent, common.Agent)
		own.Storage, own.Placement = cmp.Or(own.Storage, common.Storage), cmp.Or(own.Placement, common.Placement)
		own.ZoneNamespaces = cmp.Or(own.ZoneNamespaces, common.ZoneNamespaces)
		role := cluster.Spec.Secondary
		switch s.Role {
		case bind9.RolePrimary:
			role = cluster.Spec.Primary
		case bind9.RoleSigner:
			role = nil
			if dnssec := cluster.Spec.DNSSEC.DeepCopy(); dnssec != nil {
				own.Storage, s.Policies = cmp.Or(instance.Spec.Storage, dnssec.Storage, common.Storage), dnssec.Policies
			}
		}
		if role != nil {
			service, resources = cmp.Or(service, role.Service), cmp.Or(resources, role.Resources)
		}
	}
	if service != nil {
		s.Service = *service.DeepCopy()
	}
	if resources != nil {
		s.Resources = *resources.DeepCopy()
	}
	s.Settings.Version = cmp.Or(s.Settings.Version, DefaultVersion)
	return s
}

// Agent is the kind of program beside BIND.
func (s *Server) Agent() bind9.AgentKind {
	if s.Settings.Agent == nil {
		return bind9.AgentKubizone
	}
	return cmp.Or(s.Settings.Agent.Kind, bind9.AgentKubizone)
}

// Group is what the servers with one TSIG key are named by: the cluster, or a server that stands alone. A signer has a
// key of its own, by which the hidden primary tells it from those that are not to have unsigned zones.
func (s *Server) Group() string {
	if s.Role == bind9.RoleSigner {
		return s.Name
	}
	return cmp.Or(s.Cluster, s.Name)
}
