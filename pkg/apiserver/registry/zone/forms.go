// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

func serialsOf(query *v1alpha1.ZoneChangesOptions) (since, until serial.Serial, err error) {
	if since, err = serialOf("since", query.Since); err == nil {
		until, err = serialOf("until", query.Until)
	}
	return since, until, err
}

func serialOf(parameter string, value int64) (serial.Serial, error) {
	if value < 0 || value > int64(^uint32(0)) {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("query parameter %s: %d is not a serial, which is from 1 to 4294967295", parameter,
			value))
	}
	return serial.Serial(uint32(value)), nil
}

func formOf(text string) (definition bool, err error) {
	switch text {
	case "", v1alpha1.FormEntries:
		return false, nil
	case v1alpha1.FormDefinition:
		return true, nil
	}
	return false, apierrors.NewBadRequest(fmt.Sprintf("query parameter form: %q is none of %q, %q and, of changes, %q", text,
		v1alpha1.FormEntries, v1alpha1.FormDefinition, v1alpha1.FormHistory))
}

func metaOf(zone *v1alpha1.Zone) v1alpha1.ZoneViewMeta {
	return v1alpha1.ZoneViewMeta{Name: zone.Name, Namespace: zone.Namespace, UID: string(zone.UID)}
}

func apiRows(rows []content.Row) []v1alpha1.Row {
	var out []v1alpha1.Row
	for _, row := range rows {
		out = append(out, v1alpha1.Row{Owner: row.Owner.String(), Type: row.Type.String(), Data: row.Data})
	}
	return out
}

func apiTTL(ttl *content.TTL) string {
	if ttl == nil {
		return ""
	}
	return ttl.String()
}

func apiTime(seconds int64) *metav1.Time {
	if seconds == 0 {
		return nil
	}
	at := metav1.NewTime(time.Unix(seconds, 0).UTC())
	return &at
}
