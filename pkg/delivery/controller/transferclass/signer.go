// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transferclass

import (
	"slices"

	"k8s.io/client-go/tools/cache"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/dns/tsig"
)

// IsBySigner reports whether servers transfer a zone from its DNSSEC signer. The hidden primary then gives the zone to
// the signer alone.
func IsBySigner(zone *v1alpha1.Zone) bool {
	if zone.Status.DNSSEC == nil {
		return false
	}
	switch zone.Status.DNSSEC.Phase {
	case v1alpha1.DNSSECMoving, v1alpha1.DNSSECSigned, v1alpha1.DNSSECWithdrawing, v1alpha1.DNSSECExpiring:
		return true
	}
	return false
}

// IsBeingSigned reports whether a signer begins to sign the zone.
func IsBeingSigned(zone *v1alpha1.Zone) bool {
	return zone.Status.DNSSEC != nil && zone.Status.DNSSEC.Phase == v1alpha1.DNSSECSigning
}

// markSigners marks the signers among the secondaries, their keys and their targets. A signer gets the unsigned zone
// from the primary, and follows no catalog.
func (s *Selected) markSigners(secret secrets.GetFunc) error {
	for at, server := range s.Servers {
		if !server.Signer {
			continue
		}
		signer := &s.Secondaries[at]
		key, others, err := secrets.ReadTSIGKeys(*server.Key, secret)
		if err != nil {
			return err
		}
		signer.Signs, signer.NoCatalog = true, true
		for i := range s.Class.Allow {
			rule := &s.Class.Allow[i]
			rule.Signs = rule.Signs || rule.Key == key.Name ||
				slices.ContainsFunc(others, func(other tsig.Key) bool { return other.Name == rule.Key })
		}
		for i := range s.Class.Notify {
			if target := &s.Class.Notify[i]; target.Addr == signer.Addr {
				target.Signs, target.NoCatalog = true, true
			}
		}
	}
	return nil
}

func (m *Members) Zone(class, uid string) (cache.ObjectName, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	one, ok := m.find(class).rows[uid]
	return one.zoneObject, ok
}

func (s *Servers) Cluster(namespace, name string) *bind9.Bind9Cluster {
	cluster, err := s.clusters.Lister().Bind9Clusters(namespace).Get(name)
	if err != nil {
		return nil
	}
	return cluster
}
