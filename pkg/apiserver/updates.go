// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/registry/updatekey"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

type updatedZones struct {
	zones  *zoneview.Set
	ledger *ledger.Ledger
}

var _ updatekey.Zones = (*updatedZones)(nil)

// FindZone searches memory, then etcd, because memory may lack a zone just created.
func (u *updatedZones) FindZone(ctx context.Context, namespace, view string, apex name.Name) (at v1alpha1.AdoptingZone, ok bool,
	err error) {
	if zone, found := u.zones.Find(view, apex); found {
		return refOf(zone), true, nil
	}
	return u.ledger.FindZone(ctx, namespace, view, apex)
}

func refOf(zone *zoneview.Snapshot) v1alpha1.AdoptingZone {
	found := zone.Zone()
	return v1alpha1.AdoptingZone{Namespace: found.Namespace, Name: found.Name, UID: types.UID(found.UID)}
}

// FindEnclosing searches only memory, because the ledger will decide on current state.
func (u *updatedZones) FindEnclosing(view string, fqdn name.Name) (at v1alpha1.AdoptingZone, apex name.Name, ok bool) {
	for n, more := fqdn, true; more; n, more = n.Parent() {
		if zone, found := u.zones.Find(view, n); found {
			return refOf(zone), n, true
		}
	}
	return v1alpha1.AdoptingZone{}, name.Name{}, false
}

func (u *updatedZones) RecordsOf(ctx context.Context, at v1alpha1.AdoptingZone, apex name.Name, namespace string, names []name.Name) (
	map[name.Name][]*v1alpha1.Record, error) {
	found, err := u.ledger.RecordsAt(ctx, at, apex, namespace, names)
	if errors.Is(err, ledger.ErrTooManyRecords) {
		err = updatekey.ErrTooManyRecords
	}
	return found, err
}

// ApexOf reads from etcd, or from the ledger's cache if etcd confirms the value.
func (u *updatedZones) ApexOf(ctx context.Context, at v1alpha1.AdoptingZone, namespace string) ([]content.RRset, []string, error) {
	return u.ledger.ReadApex(ctx, at, namespace)
}

// MayMake searches memory, so the answer may be some milliseconds old.
func (u *updatedZones) MayMake(at v1alpha1.AdoptingZone, view string, apex name.Name, names []name.Name) bool {
	zone, found := u.zones.Find(view, apex)
	return !found || zone.Zone().UID != string(at.UID) || slices.ContainsFunc(names, zone.Header().MakesAt)
}

func (u *updatedZones) Judge(ctx context.Context, at v1alpha1.AdoptingZone, namespace string,
	prerequisites []v1alpha1.ChangeSetPrerequisite) error {
	return u.ledger.JudgePrerequisites(ctx, at, namespace, prerequisites)
}
