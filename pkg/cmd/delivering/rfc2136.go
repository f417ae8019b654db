// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivering

import (
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/controller/class"
	"kubi.zone/kubizone/pkg/controller/transferclass"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/delivery/rfc2136"
	wire "kubi.zone/kubizone/pkg/transfer"
)

func newRFC2136(of *v1alpha1.DNSClass, secret class.GetSecret, _ Sources) (delivery.Provider, string, error) {
	block := of.Spec.RFC2136
	target := "rfc2136 " + block.Server
	key, err := transferclass.Key(block.TSIGSecretRef, secret)
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

func updatedServer(of *v1alpha1.DNSClass) []NameServer {
	block := of.Spec.RFC2136
	return []NameServer{{Address: block.Server, Key: &block.TSIGSecretRef, Guest: true}}
}
