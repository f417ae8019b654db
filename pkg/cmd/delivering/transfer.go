// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivering

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/controller/class"
	"kubi.zone/kubizone/pkg/controller/transferclass"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/delivery/transfer"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/serial"
)

func newTransfer(of *v1alpha1.DNSClass, secret class.GetSecret, sources Sources) (delivery.Provider, string, error) {
	peers, err := transferclass.ReadPeers(of, secret)
	if err != nil {
		return nil, "", err
	}
	provider, err := transfer.New(shownBy(of, peers, sources))
	if err != nil {
		return nil, "", err
	}
	held := &keyHolder{provider, sources.Keys.Hold(of, peers)}
	// A confirmation is for servers and class together.
	addresses := make([]string, len(peers.Secondaries))
	for i, s := range peers.Secondaries {
		addresses[i] = s.Addr.String()
	}
	slices.Sort(addresses)
	sum := sha256.Sum256([]byte(strings.Join(addresses, " ")))
	return held, fmt.Sprintf("transfer by %s to %d secondaries (%x)", of.Name, len(addresses), sum[:4]), nil
}

type keyHolder struct {
	delivery.Provider
	release func()
}

func (h *keyHolder) Close() error {
	h.release()
	return h.Provider.Close()
}

func shownBy(of *v1alpha1.DNSClass, peers transferclass.Peers, sources Sources) transfer.Config {
	return transfer.Config{
		Members: sources.Members.OfClass(of.Name), Secondaries: peers.Secondaries, Catalog: peers.Catalog, Claims: peers.Claims(),
		Dial:          dial.New(of.Spec.AllowLocalAddresses).DialContext,
		DriftInterval: ptr.Deref(of.Spec.DriftInterval, metav1.Duration{}).Duration,
		ServedSerial: func(uid string) serial.Serial {
			if zone, ok := sources.Views.Settled(uid); ok {
				return zone.Serial()
			}
			return 0
		},
		Changes: func(uid string, since, until serial.Serial) ([]dns.Change, error) {
			return sources.Views.EntryChanges(uid, since, until)
		},
		NeedsFullTransfer: sources.Views.RaisesSerial,
		LatestSerial: func(ctx context.Context, uid string) (serial.Serial, error) {
			zone, ok := sources.Views.Settled(uid)
			if !ok {
				return 0, errors.New("the zone is gone")
			}
			now, err := sources.Client.KubizoneV1alpha1().Zones(zone.Zone().Namespace).Get(ctx, zone.Zone().Name, metav1.GetOptions{})
			if err != nil {
				return 0, err
			}
			if string(now.UID) != uid {
				return 0, errors.New("the zone was deleted and made again")
			}
			return serial.Serial(now.Status.Serial), nil
		},
	}
}

func secondaries(of *v1alpha1.DNSClass) []NameServer {
	block := of.Spec.Transfer
	servers := make([]NameServer, len(block.Secondaries))
	for i, s := range block.Secondaries {
		servers[i] = NameServer{Address: s.Address, Key: cmp.Or(s.TSIGSecretRef, block.TSIGSecretRef), Signed: s.Signs || s.Signer != ""}
	}
	return servers
}
