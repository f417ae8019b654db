// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

var ErrAwaitsDelivery = errors.New("the zone is not withdrawn yet")

// EndedContent holds the RRsets that a provider may still have of an ended zone, which has lost its DNS name. For
// providers that cannot list their RRsets, these are the ones to remove.
type EndedContent struct {
	Header content.Header
	Serial serial.Serial // the zone's last serial
	// Rows holds owner and type of the last RRsets, and of RRsets changed since the provider's serial, except the ones
	// made by Header.
	Rows []content.Row
}

// EndedContent lists the RRsets of an ended zone that a provider may still serve: the last RRsets of the zone, and all
// RRsets changed since the provider's serial. Their keys stay while the Zone has the finalizer of Delivery. The error
// is ErrTrimmed if the keys are gone, or the zone was renamed after that serial.
func (jr *Journal) EndedContent(ctx context.Context, zone *v1alpha1.Zone, since serial.Serial) (*EndedContent, error) {
	rev := int64(0)
	header, err := jr.readEndedHeader(ctx, zone, &rev)
	if err != nil {
		return nil, err
	}
	ended := &EndedContent{Header: *header, Serial: since}
	if err := jr.addOwners(ctx, ended, zone, rev); err != nil {
		return nil, err
	}
	if err := jr.addSteps(ctx, ended, zone, rev); err != nil {
		return nil, err
	}
	return ended, nil
}

func trimmedError(zone *v1alpha1.Zone, why string) error {
	return fmt.Errorf("zone %s, %s: %w", zone.UID, why, ErrTrimmed)
}

// readEndedHeader returns the SOA fields and name servers of an ended zone, and sets *rev to the revision of the read.
// The Zone still has the finalizer then, so at *rev no key is purged yet.
func (jr *Journal) readEndedHeader(ctx context.Context, zone *v1alpha1.Zone, rev *int64) (header *content.Header, err error) {
	// The outbox item of the pending purge has the header.
	err = etcd.Each(ctx, jr.Client, jr.Layout.Room("outbox"), rev, func(key string, data []byte, _ int64) error {
		var w law.Work
		if err := layout.Decode(data, &w); err == nil && w.Purge == string(zone.UID) && w.Had != nil {
			header = w.Had
		}
		return nil
	})
	if err != nil {
		return nil, err
	}

	key := jr.Layout.Zone(zone.Namespace, zone.Name)
	r, err := jr.Client.Get(ctx, key, clientv3.WithRev(*rev))
	if err != nil {
		return nil, err
	}
	// Without header or Zone, the purge has ended or never began.
	if header == nil || len(r.Kvs) == 0 {
		return nil, trimmedError(zone, "no work keeps what it had")
	}

	var o v1alpha1.Zone
	if err := jr.Zones.Decode(ctx, key, r.Kvs[0].Value, r.Kvs[0].ModRevision, &o); err != nil {
		return nil, layout.Unreadable(key, err)
	}
	// Without the finalizer, the purge of owners and journal may have begun.
	if o.UID != zone.UID || !jr.HasDelivery(&o) {
		return nil, trimmedError(zone, "it is withdrawn")
	}

	return header, nil
}

// addOwners adds owner and type of the zone's last RRsets, of Records and of child cuts. An RRset with several values
// appears several times.
func (jr *Journal) addOwners(ctx context.Context, left *EndedContent, zone *v1alpha1.Zone, rev int64) error {
	return etcd.Each(ctx, jr.Client, jr.Layout.Room("owners")+string(zone.UID)+"/", &rev, func(key string, data []byte, _ int64) error {
		_, owner, err := jr.Layout.ParseOwner(key)
		if err != nil {
			return err
		}
		var has law.Owner
		if err := layout.Decode(data, &has); err != nil {
			return err
		}
		for _, values := range [][]law.OwnerValue{has.Values, has.Cut} {
			for _, value := range values {
				left.Rows = append(left.Rows, content.Row{Owner: owner, Type: value.Type})
			}
		}
		return nil
	})
}

// addSteps adds owner and type of the RRsets changed since left.Serial, as a provider at that serial may still have
// them, and sets left.Serial to the zone's last serial. A change of the zone's name is ErrTrimmed.
func (jr *Journal) addSteps(ctx context.Context, left *EndedContent, zone *v1alpha1.Zone, rev int64) error {
	uid := string(zone.UID)
	last, err := jr.Client.Get(ctx, jr.Layout.Journal(uid), clientv3.WithPrefix(), clientv3.WithLimit(1),
		clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend), clientv3.WithRev(rev))
	if err != nil {
		return err
	}
	if len(last.Kvs) == 0 {
		return trimmedError(zone, "it has no journal")
	}

	_, n, ok := jr.Layout.ParseStep(string(last.Kvs[0].Key))
	if !ok {
		return fmt.Errorf("%s is no key of a journal", last.Kvs[0].Key)
	}
	// The last key of the journal has the last step, perhaps with a mark's suffix.
	_, steps, err := jr.Steps(ctx, uid, left.Serial, n)
	if err != nil {
		return err
	}

	for _, step := range steps {
		left.Serial = step.Serial
		// A provider may still have former name servers at the apex.
		if before := step.HeaderBefore; before != nil {
			if before.FQDN != left.Header.FQDN {
				return trimmedError(zone, "it had another name")
			}
			left.Header.NameServers = slices.Concat(left.Header.NameServers, before.NameServers)
		}
		for _, rows := range [][]content.Row{step.Removed, step.Added} {
			for _, row := range rows {
				left.Rows = append(left.Rows, content.Row{Owner: row.Owner, Type: row.Type})
			}
		}
	}

	return nil
}
