// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
)

const MaxRecordsRead = law.MaxValuesAtName

var ErrTooManyRecords = errors.New("more Records than are read at once")

// RecordsAt returns a namespace's Records at the given names of a zone with the DNS name apex. Records that leave the
// zone meanwhile are omitted. The reads are charged to the namespace. With more than MaxRecordsRead Records, the error
// is ErrTooManyRecords.
func (l *Ledger) RecordsAt(ctx context.Context, zone v1alpha1.AdoptingZone, apex name.Name, namespace string, names []name.Name) (
	map[name.Name][]*v1alpha1.Record, error) {
	ctx = etcd.PaidBy(ctx, etcd.Payer{Namespace: namespace, Weight: 1})

	// The members of the zone name the objects to read.
	var members, objects []clientv3.Op
	for _, fqdn := range names {
		// A name outside the zone has no Records there.
		if owner, inside := fqdn.Rel(apex); inside {
			prefix := l.mem.Layout.Key(law.MemberKey(string(zone.UID), owner, namespace, ""))
			members = append(members, clientv3.OpGet(prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly(),
				clientv3.WithLimit(MaxRecordsRead+1)))
		}
	}

	if err := l.readAll(ctx, members, func(kv *mvccpb.KeyValue) error {
		_, _, _, object, err := l.mem.Layout.ParseMember(string(kv.Key))
		objects = append(objects, clientv3.OpGet(l.mem.Layout.Record(namespace, object)))
		return err
	}); err != nil {
		return nil, fmt.Errorf("members of zone %s/%s: %w", zone.Namespace, zone.Name, err)
	}

	// Read the objects.
	if len(objects) > MaxRecordsRead {
		return nil, ErrTooManyRecords
	}
	found := map[name.Name][]*v1alpha1.Record{}
	err := l.readAll(ctx, objects, func(kv *mvccpb.KeyValue) error {
		r := &v1alpha1.Record{}
		if err := l.mem.Records.Decode(ctx, string(kv.Key), kv.Value, kv.ModRevision, r); err != nil {
			return err
		}
		// Between the two reads, a Record may have left the zone.
		if fqdn, err := name.Parse(r.Status.FQDN); err == nil && r.Status.ZoneRef != nil && r.Status.ZoneRef.UID == zone.UID {
			found[fqdn] = append(found[fqdn], r)
		}
		return nil
	})

	return found, err
}

const readAtOnce = 100

// readAll passes the keys that the reads find to take, in order, with readAtOnce reads in a request. The first error of
// take ends the call.
func (l *Ledger) readAll(ctx context.Context, reads []clientv3.Op, take func(*mvccpb.KeyValue) error) error {
	for some := range slices.Chunk(reads, readAtOnce) {
		l.mem.Stats.Reads.Add(1)
		answer, err := l.mem.Client.Txn(ctx).Then(some...).Commit()
		if err != nil {
			return err
		}
		for _, r := range answer.Responses {
			for _, kv := range r.GetResponseRange().Kvs {
				if err := take(kv); err != nil {
					return fmt.Errorf("%s: %w", kv.Key, err)
				}
			}
		}
	}
	return nil
}

// ReadApex returns the RRsets made from a zone's spec.nameServers, and the values of the apex NS Records. Both are nil
// if the zone is gone. The read is charged to the namespace.
func (l *Ledger) ReadApex(ctx context.Context, zone v1alpha1.AdoptingZone, namespace string) (nsSets []content.RRset, ns []string,
	err error) {
	w := &commit.Write{Object: commit.Object{Resource: "zones", Name: zone.Name, Key: l.mem.Layout.Zone(zone.Namespace, zone.Name)},
		Decide: func(seen *law.Facts) law.Outcome {
			return law.Decide(seen, func(r *law.Reading) (*law.Plan, *law.Refusal) {
				nsSets, ns = nil, nil // the law may decide again
				z := law.Get[law.Zone](r, law.ZoneKey(zone.Namespace, zone.Name))
				if z != nil && z.UID == string(zone.UID) && !z.Pending {
					// A Zone deleted and created again has another UID, and a pending Zone no content.
					nsSets, ns = z.NSSets, r.HoldingOf(z).ApexNS
				}
				return &law.Plan{}, nil
			})
		}}
	_, err = l.previewPaid(ctx, namespace, w)
	return nsSets, ns, err
}
