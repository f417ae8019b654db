// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transferclass

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/delivery/transfer"
	"kubi.zone/kubizone/pkg/dns/name"
	wire "kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/primary"
)

type Peers struct {
	Class       primary.ClassConfig
	Secondaries []transfer.Secondary
	Catalog     name.Name // zero without a catalog
}

// Claims maps key names to values that differ for different keys (identityOf).
func (p Peers) Claims() map[string]string {
	claims := map[string]string{}
	for _, key := range p.Class.Keys {
		claims[key.Name] = identityOf(key)
	}
	return claims
}

// ReadPeers reads the block transfer and its Secrets. Errors are *delivery.Error, except those of readSecret.
//
// A secondary with a key may transfer from any address, because queries often come from another than the listed
// address. Others are known by address. Local addresses need allowLocalAddresses.
func ReadPeers(dnsClass *v1alpha1.DNSClass, readSecret secrets.GetFunc) (Peers, error) {
	return readBlock(dnsClass, dnsClass.Spec.Transfer, readSecret)
}

func (p Peers) dropNames(names map[string]string) Peers {
	named := func(name string) bool { _, is := names[name]; return is }
	p.Class.Keys = slices.DeleteFunc(slices.Clone(p.Class.Keys), func(key tsig.Key) bool { return named(key.Name) })
	p.Class.Allow = slices.DeleteFunc(slices.Clone(p.Class.Allow), func(rule primary.Rule) bool { return named(rule.Key) })
	p.Class.Notify = slices.DeleteFunc(slices.Clone(p.Class.Notify), func(target primary.Target) bool { return named(target.Key) })
	p.Secondaries = slices.DeleteFunc(slices.Clone(p.Secondaries), func(s transfer.Secondary) bool {
		return s.Key != nil && named(s.Key.Name)
	})
	return p
}

type namedKey struct {
	tsig.Key
	secret v1alpha1.SecretReference
}

// readBlock reads the servers and keys of a block transfer. Faults of the class are *delivery.Error; errors of secret
// are returned unchanged.
func readBlock(of *v1alpha1.DNSClass, block *v1alpha1.TransferProvider, secret secrets.GetFunc) (Peers, error) {
	peers := Peers{Class: primary.ClassConfig{Name: of.Name}}
	// The zones of a Bind9Cluster count for its namespace.
	if namespace, _, ok := apiclass.SplitCluster(of.Name); ok {
		peers.Class.Tenant = namespace
	}
	invalid := func(format string, args ...any) error {
		return &delivery.Error{Reason: delivery.ReasonInvalidConfiguration, Permanent: true, Message: fmt.Sprintf(format, args...)}
	}
	if block.CatalogZone != "" {
		var err error
		if peers.Catalog, err = name.Parse(block.CatalogZone); err != nil {
			return Peers{}, invalid("transfer.catalogZone: %v", err)
		}
		peers.Class.Catalog, peers.Class.CatalogGroup = peers.Catalog, block.CatalogGroup
	}
	read := map[v1alpha1.SecretReference]tsig.Key{}
	named := map[string]namedKey{}
	// keyOf reads the key of a Secret once, and lets every server with the key transfer. Keys in rotation count, too.
	keyOf := func(field string, ref *v1alpha1.SecretReference) (*tsig.Key, error) {
		if ref == nil {
			return nil, nil
		}
		if key, ok := read[*ref]; ok {
			return &key, nil
		}
		key, others, err := secrets.ReadTSIGKeys(*ref, secret)
		if err != nil {
			return nil, err
		}
		if other, twice := named[key.Name]; twice && !sameKey(key, other.Key) {
			return nil, invalid("%s: Secret %s/%s has a key named %s, and Secret %s/%s, which the class names too, has another key of "+
				"that name; rename one of the keys, or name one Secret", field, ref.Namespace, ref.Name, key,
				other.secret.Namespace, other.secret.Name)
		}
		read[*ref] = key
		for _, one := range append([]tsig.Key{key}, others...) {
			if _, taken := named[one.Name]; !taken {
				named[one.Name] = namedKey{one, *ref}
				peers.Class.Keys, peers.Class.Allow = append(peers.Class.Keys, one), append(peers.Class.Allow, primary.Rule{Key: one.Name})
			}
		}
		return &key, nil
	}
	var err error
	if peers.Class.TLS, err = readTLS(block.TLS, secret); err != nil {
		return Peers{}, err
	}
	// 1. The key of the class.
	common, err := keyOf("transfer.tsigSecretRef", block.TSIGSecretRef)
	if err != nil {
		return Peers{}, err
	}
	reachable := func(at netip.AddrPort) bool { return of.Spec.AllowLocalAddresses || dial.Check(at.Addr()) == nil }
	addTarget := func(target primary.Target, key *tsig.Key) {
		at := target.Addr
		if key != nil {
			target.Key = key.Name
		}
		if reachable(at) && !slices.ContainsFunc(peers.Class.Notify, func(other primary.Target) bool { return other.Addr == at }) {
			peers.Class.Notify = append(peers.Class.Notify, target)
		}
	}
	// 2. The secondaries: a key, a certificate or an address permits the transfer.
	withoutKey := false
	for i, s := range block.Secondaries {
		field := fmt.Sprintf("transfer.secondaries[%d]", i)
		at, err := wire.ParseAddress(s.Address)
		if err != nil {
			return Peers{}, invalid("%s.address: %v", field, err)
		}
		key, err := keyOf(field+".tsigSecretRef", s.TSIGSecretRef)
		if err != nil {
			return Peers{}, err
		}
		key = cmp.Or(key, common)
		one := transfer.Secondary{Name: s.Address, Addr: at, NoCatalog: s.Catalog == v1alpha1.CatalogIgnore, Signs: s.Signs,
			Signer: s.Signer}
		// A server without catalog, and with another source of zones, needs no NOTIFY.
		if target := (primary.Target{Addr: at, NoCatalog: one.NoCatalog, NoZones: one.Signer != ""}); !target.NoCatalog || !target.NoZones {
			addTarget(target, key)
		}
		switch {
		case key != nil:
			one.Key = &wire.Key{Name: key.Name, Algorithm: string(key.Algorithm), MAC: key.MAC}
		// Not for a loopback address, which would permit each process of the primary's host.
		// A certificate admits from any address.
		case peers.Class.TLS != nil:
			withoutKey = true
		case reachable(at):
			peers.Class.Allow = append(peers.Class.Allow,
				primary.Rule{Prefixes: []netip.Prefix{netip.PrefixFrom(at.Addr(), at.Addr().BitLen())}})
		}
		if one.InClear = peers.Class.TLS != nil && s.TLSServer == ""; peers.Class.TLS != nil && !one.InClear {
			one.TLSAddr, one.TLS = netip.AddrPortFrom(at.Addr(), tlsPort), askOverTLS(s.TLSServer, peers.Class.TLS)
		}
		peers.Secondaries = append(peers.Secondaries, one)
	}
	if withoutKey || peers.Class.TLS != nil && len(peers.Class.Allow) == 0 {
		peers.Class.Allow = append(peers.Class.Allow, primary.Rule{})
	}
	// 3. Further servers that get NOTIFY alone.
	for i, text := range block.AlsoNotify {
		at, err := wire.ParseAddress(text)
		if err != nil {
			return Peers{}, invalid("transfer.alsoNotify[%d]: %v", i, err)
		}
		addTarget(primary.Target{Addr: at}, common)
	}
	return peers, nil
}
