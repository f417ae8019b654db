// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/ledger"
)

type Sources struct {
	Ledger  *ledger.Ledger
	Records rest.Getter
}

// RecordsAt omits Records deleted or moved meanwhile.
func (s *Sources) RecordsAt(ctx context.Context, object *v1alpha1.Zone, owner name.Name) ([]*v1alpha1.Record, error) {
	fqdn, err := name.Parse(object.Status.FQDN)
	if err != nil {
		return nil, fmt.Errorf("zone %s/%s: status.fqdn: %w", object.Namespace, object.Name, err)
	}
	relative, inside := owner.Rel(fqdn)
	if !inside {
		return nil, nil
	}
	members, err := s.Ledger.MembersAt(ctx, string(object.UID), relative)
	if err != nil {
		return nil, fmt.Errorf("members of zone %s/%s: %w", object.Namespace, object.Name, err)
	}
	var found []*v1alpha1.Record
	for _, at := range members {
		got, err := s.Records.Get(genericapirequest.WithNamespace(ctx, at.Namespace), at.Name, &metav1.GetOptions{ResourceVersion: "0"})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if r, ok := got.(*v1alpha1.Record); ok && r.Status.ZoneRef != nil && r.Status.ZoneRef.UID == object.UID &&
			r.Status.FQDN == owner.String() {
			found = append(found, r)
		}
	}
	return found, nil
}
