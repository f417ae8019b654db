// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updatekey

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/update"
)

// ShareREST is the subresource share, which lists the records that an UpdateKey may transfer (spec.transfer: Own).
type ShareREST struct {
	kind.Endpoint
	keys    rest.Getter
	records rest.Lister
	zones   Zones
}

var _ rest.NamedCreater = (*ShareREST)(nil)

func NewShareREST(keys rest.Getter, records rest.Lister, zones Zones) *ShareREST {
	return &ShareREST{kind.Endpoint{Object: &v1alpha1.UpdateRequest{}}, keys, records, zones}
}

// Create returns the Records that updates made in the zone for the namespace, at the key's names.
func (r *ShareREST) Create(ctx context.Context, object string, obj runtime.Object, validate rest.ValidateObjectFunc,
	_ *metav1.CreateOptions) (runtime.Object, error) {
	request, key, err := readRequest(ctx, r.keys, object, obj, validate)
	if err != nil {
		return nil, err
	}
	apex, err := name.Parse(request.Spec.Zone)
	if err != nil {
		return nil, apierrors.NewBadRequest("spec.zone: " + err.Error())
	}
	at, ok, err := r.zones.FindZone(ctx, key.Namespace, key.Spec.View, apex)
	if err != nil {
		return nil, err
	}
	// All refusals have the same text, so a key's holder cannot find zones that give its namespace nothing.
	if !ok || key.Spec.Transfer != v1alpha1.UpdateTransferOwn || key.Spec.Suspended {
		request.Status = v1alpha1.UpdateRequestStatus{RCode: update.Refused.String(), Message: notAuth(apex, key.Namespace)}
		return request, nil
	}
	if err := r.zones.Judge(ctx, at, key.Namespace, nil); apierrors.IsForbidden(err) {
		request.Status = v1alpha1.UpdateRequestStatus{RCode: update.Refused.String(), Message: notAuth(apex, key.Namespace)}
		return request, nil
	} else if err != nil {
		return nil, err
	}
	scope, err := readScope(key)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	// List the namespace's dynamic Records of all zones, and keep those in this zone at names of the key.
	list, err := r.records.List(genericapirequest.WithNamespace(ctx, key.Namespace), &internalversion.ListOptions{
		LabelSelector: labels.SelectorFromSet(labels.Set{v1alpha1.LabelDynamic: "true"})})
	if err != nil {
		return nil, err
	}
	request.Status = v1alpha1.UpdateRequestStatus{RCode: update.NoError.String()}
	in := zone{key.Spec.View, apex}
	for i := range list.(*v1alpha1.RecordList).Items {
		record := &list.(*v1alpha1.RecordList).Items[i]
		fqdn, err := name.Parse(record.Status.FQDN)
		if err != nil || record.Status.ZoneRef == nil || record.Status.ZoneRef.UID != at.UID {
			continue
		}
		present, _, err := divideRecords(scope, in, fqdn, []*v1alpha1.Record{record})
		if err != nil {
			return nil, err
		}
		for _, set := range present.Share {
			for _, data := range set.Values {
				request.Status.Share = append(request.Status.Share, v1alpha1.UpdateRequestRecord{Name: fqdn.String(),
					Type: set.Type.String(), Class: string(update.ClassIN), TTL: int64(set.TTL), Data: data})
			}
		}
	}
	return request, nil
}
