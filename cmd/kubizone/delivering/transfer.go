// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivering

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/controller/transferclass"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/delivery/transfer"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// newTransfer returns the provider of a class with secondaries, and its target. The class's TSIG keys are held until
// Close (Keys.Hold).
func (s Sources) newTransfer(of *v1alpha1.DNSClass, secret secrets.GetFunc) (delivery.Provider, string, error) {
	peers, err := transferclass.ReadPeers(of, secret)
	if err != nil {
		return nil, "", err
	}
	provider, err := transfer.New(s.shownBy(of, peers))
	if err != nil {
		return nil, "", err
	}
	held := &keyHolder{provider, s.Keys.Hold(of, peers)}
	// The target changes with the servers, because confirmations by former servers do not count.
	addresses := make([]string, len(peers.Secondaries))
	for i, secondary := range peers.Secondaries {
		addresses[i] = secondary.Addr.String()
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

// shownBy returns the configuration of transfers to the secondaries: the zones as primaries serve them, from the views
// in memory.
func (s Sources) shownBy(of *v1alpha1.DNSClass, peers transferclass.Peers) transfer.Config {
	return transfer.Config{
		Members: s.Members.OfClass(of.Name), Secondaries: peers.Secondaries, Catalog: peers.Catalog, Claims: peers.Claims(),
		Dial:          dial.New(of.Spec.AllowLocalAddresses).DialContext,
		DriftInterval: ptr.Deref(of.Spec.DriftInterval, metav1.Duration{}).Duration,
		ServedSerial: func(uid string) serial.Serial {
			if zone, ok := s.Views.Settled(uid); ok {
				return zone.Serial()
			}
			return 0
		},
		Changes: func(uid string, since, until serial.Serial) ([]dns.Change, error) {
			return s.Views.EntryChanges(uid, since, until)
		},
		NeedsFullTransfer: s.Views.RaisesSerial,
		// The API has the newest serial, and the views may be behind.
		LatestSerial: func(ctx context.Context, uid string) (serial.Serial, error) {
			zone, ok := s.Views.Settled(uid)
			if !ok {
				return 0, errors.New("the zone is gone")
			}
			now, err := s.Client.KubizoneV1alpha1().Zones(zone.Zone().Namespace).Get(ctx, zone.Zone().Name, metav1.GetOptions{})
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
