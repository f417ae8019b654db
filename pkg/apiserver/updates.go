// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/registry/updatekey"
	"kubi.zone/kubizone/pkg/zoneview"
)

// updatedZones is what updates are planned on: which zones there are as the views have it, and Records as etcd has
// them.
type updatedZones struct {
	zones   *zoneview.Set
	ledger  *ledger.Ledger
	records rest.Getter
	keys    layout.Keys
}

var _ updatekey.Zones = (*updatedZones)(nil)

// FindZone finds it in the views, which are some milliseconds behind etcd, or else in etcd: a client whose zone was
// made a moment ago must not be told that there is none.
func (u *updatedZones) FindZone(ctx context.Context, namespace, view string, apex name.Name) (
	at v1alpha1.AdoptingZone, ok bool, err error) {
	if zone, found := u.zones.Find(view, apex); found {
		return refOf(zone), true, nil
	}
	return u.ledger.FindZone(ctx, namespace, view, apex)
}

func refOf(zone *zoneview.Snapshot) v1alpha1.AdoptingZone {
	of := zone.Zone()
	return v1alpha1.AdoptingZone{Namespace: of.Namespace, Name: of.Name, UID: types.UID(of.UID)}
}

// FindEnclosing finds it in the views alone. The law decides on what is true.
func (u *updatedZones) FindEnclosing(view string, fqdn name.Name) (at v1alpha1.AdoptingZone, apex name.Name, ok bool) {
	for n, more := fqdn, true; more; n, more = n.Parent() {
		if zone, found := u.zones.Find(view, n); found {
			return refOf(zone), n, true
		}
	}
	return v1alpha1.AdoptingZone{}, name.Name{}, false
}

// RecordsOf reads them by the member keys of the name. One that goes or moves meanwhile is left out.
func (u *updatedZones) RecordsOf(ctx context.Context, at v1alpha1.AdoptingZone, apex name.Name, namespace string, fqdn name.Name) (
	found []*v1alpha1.Record, err error) {
	owner, inside := fqdn.Rel(apex)
	if !inside {
		return nil, nil
	}
	prefix := u.keys.Key(law.MemberKey(string(at.UID), owner, namespace, ""))
	answer, err := u.ledger.Client().Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, fmt.Errorf("members of zone %s/%s: %w", at.Namespace, at.Name, err)
	}
	for _, kv := range answer.Kvs {
		got, err := u.records.Get(genericapirequest.WithNamespace(ctx, namespace), string(kv.Key[len(prefix):]), &metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		r, ok := got.(*v1alpha1.Record)
		if ok && r.Status.ZoneRef != nil && r.Status.ZoneRef.UID == at.UID && r.Status.FQDN == fqdn.String() {
			found = append(found, r)
		}
	}
	return found, nil
}

// Judge judges prerequisites.
func (u *updatedZones) Judge(ctx context.Context, at v1alpha1.AdoptingZone, namespace string,
	prerequisites []v1alpha1.ChangeSetPrerequisite) error {
	return u.ledger.JudgePrerequisites(ctx, at, namespace, prerequisites)
}
