// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/delivery/rfc2136"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	wire "kubi.zone/kubizone/pkg/dns/transfer"
)

// newRFC2136 returns the provider of a class with the block rfc2136, and its target, which names the server. The TSIG
// key is required.
func newRFC2136(of *v1alpha1.DNSClass, secret secrets.GetFunc) (delivery.Provider, string, error) {
	block := of.Spec.RFC2136
	target := "rfc2136 " + block.Server
	key, err := secrets.ReadTSIGKey(block.TSIGSecretRef, secret)
	if err != nil {
		return nil, target, err
	}
	provider, err := rfc2136.New(rfc2136.Config{
		Server: block.Server, TransferServer: block.TransferServer, Dial: dial.New(of.Spec.AllowLocalAddresses).DialContext,
		Key:     wire.Key{Name: key.Name, Algorithm: string(key.Algorithm), MAC: key.MAC},
		Replace: block.ForeignRecords == v1alpha1.ForeignRecordsReplace,
	})
	if err != nil {
		return nil, target, err
	}
	return provider, target, nil
}
