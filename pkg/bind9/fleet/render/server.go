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

type Server struct {
	Namespace, Name string
	UID             types.UID
	// Cluster is "" without a Bind9Cluster.
	Cluster string
	Role    bind9.Role
	// Replicas is 0 or 1.
	Replicas  int32
	Settings  bind9.ServerSettings
	Service   bind9.Service
	Resources bind9.Resources

	// Control is the key of the control channel, which a running BIND cannot replace.
	Control  Key
	Transfer TransferKeys
	// Peers are the TSIG keys of a signer's cluster; nil for other roles.
	Peers           *TransferKeys
	Access          Access
	HiddenPrimaries []netip.AddrPort
	// UnkeyedPrimaries are the primaries of zones whose agent (bindcar) cannot name a key, each once.
	UnkeyedPrimaries []netip.Addr
	Policies         []bind9.DNSSECPolicy
	Catalogs         []Catalog
	Platform         Platform
}

type Access struct {
	Token                              string
	Certificate, PrivateKey, Authority []byte
}

func AgentHost(namespace, instance string) string {
	return instance + "-agent." + namespace + ".svc"
}

type Platform struct {
	// Installation labels the objects. Objects of another installation are never touched.
	Installation               string
	BINDRepository, AgentImage string
	ClientNamespace            string
	// KeyReaders may read the TSIG keys: the controller and the hidden primary.
	KeyReaders []types.NamespacedName
	// AgentReaders may read the tokens of signers' agents: the controller.
	AgentReaders []types.NamespacedName
}

type Catalog struct {
	Zone      name.Name
	Primaries []netip.AddrPort
	// Signer is the primary of signed members, which Primaries refuse to serve; zero means none.
	Signer netip.AddrPort
}

const bindcarImage = "ghcr.io/firestoned/bindcar:v0.9.0"

const DefaultVersion = "9.20"

// Merge returns the server of an instance and its cluster (or nil), without keys, catalogs and platform.
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
		// Whole blocks win: an image of the instance replaces the cluster's image, tag included.
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
				// The signer's storage has the only copy of the keys, so it may differ from that of the other servers.
				own.Storage, s.Policies = cmp.Or(instance.Spec.Storage, dnssec.Storage, common.Storage), dnssec.Policies
			}
		}

		// Service and resources come from the instance, or else from the cluster's role.
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

func (s *Server) Agent() bind9.AgentKind {
	if s.Settings.Agent == nil {
		return bind9.AgentKubizone
	}
	return cmp.Or(s.Settings.Agent.Kind, bind9.AgentKubizone)
}

// Group names the servers with the same TSIG key, a cluster or a single server. A signer has its own group, because the
// hidden primary serves a signed zone's unsigned version only to this key.
func (s *Server) Group() string {
	if s.Role == bind9.RoleSigner {
		return s.Name
	}
	return cmp.Or(s.Cluster, s.Name)
}
