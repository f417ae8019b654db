// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// Field selectors of Zones, Records, Delegations and Deliveries, beside metadata.name and metadata.namespace.
const (
	FieldZoneFQDN = "status.fqdn"
	FieldZoneView = "spec.view"

	FieldRecordType        = "spec.type"
	FieldRecordZoneRefName = "spec.zoneRef.name"
	FieldRecordFQDN        = "status.fqdn"
	// FieldRecordZone is `<namespace>/<name>` of the adopting zone.
	FieldRecordZone = "status.zone"
	// FieldRecordAdopted is "true" or "false".
	FieldRecordAdopted = "status.adopted"

	FieldDelegationZoneRefName = "spec.zoneRef.name"

	FieldDeliveryZoneName     = "spec.zone.name"
	FieldDeliveryClassRefName = "spec.classRef.name"
)

func addConversionFuncs(scheme *runtime.Scheme) error {
	selectors := map[string][]string{
		"Zone":       {FieldZoneFQDN, FieldZoneView},
		"Delegation": {FieldDelegationZoneRefName},
		"Delivery":   {FieldDeliveryZoneName, FieldDeliveryClassRefName},
		"Record":     {FieldRecordType, FieldRecordZoneRefName, FieldRecordFQDN, FieldRecordZone, FieldRecordAdopted},
	}
	for kind, labels := range selectors {
		if err := scheme.AddFieldLabelConversionFunc(SchemeGroupVersion.WithKind(kind), convertFieldLabel(kind, labels)); err != nil {
			return err
		}
	}
	if err := scheme.AddConversionFunc((*url.Values)(nil), (*ZoneEntriesOptions)(nil), func(in, out any, _ conversion.Scope) error {
		return readEntriesOptions(*in.(*url.Values), out.(*ZoneEntriesOptions))
	}); err != nil {
		return err
	}
	return scheme.AddConversionFunc((*url.Values)(nil), (*ZoneChangesOptions)(nil), func(in, out any, _ conversion.Scope) error {
		return readChangesOptions(*in.(*url.Values), out.(*ZoneChangesOptions))
	})
}

func convertFieldLabel(kind string, labels []string) runtime.FieldLabelConversionFunc {
	known := map[string]bool{"metadata.name": true, "metadata.namespace": true}
	for _, label := range labels {
		known[label] = true
	}
	return func(label, value string) (string, string, error) {
		if !known[label] {
			return "", "", fmt.Errorf("%q is not a field selector of %s: use metadata.name, metadata.namespace or one of %q", label, kind, labels)
		}
		if label == FieldRecordType {
			// Types are compared in upper case, whatever a Record wrote (S4.3).
			value = strings.ToUpper(value)
		}
		return label, value, nil
	}
}

func readEntriesOptions(in url.Values, out *ZoneEntriesOptions) error {
	var err error
	if out.Limit, err = readInt(in, "limit"); err != nil {
		return err
	}
	if out.Sources, err = readBool(in, "sources"); err != nil {
		return err
	}
	out.Continue = in.Get("continue")
	out.Type = in.Get("type")
	out.Name = in.Get("name")
	out.Form = in.Get("form")
	out.Format = in.Get("format")
	return nil
}

func readChangesOptions(in url.Values, out *ZoneChangesOptions) error {
	var err error
	if out.Since, err = readInt(in, "since"); err != nil {
		return err
	}
	if out.Until, err = readInt(in, "until"); err != nil {
		return err
	}
	if out.Sources, err = readBool(in, "sources"); err != nil {
		return err
	}
	if out.Watch, err = readBool(in, "watch"); err != nil {
		return err
	}
	out.Form = in.Get("form")
	out.Format = in.Get("format")
	return nil
}

func readInt(in url.Values, key string) (int64, error) {
	text := in.Get(key)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("query parameter %s: %q is not a whole number", key, text)
	}
	return n, nil
}

func readBool(in url.Values, key string) (bool, error) {
	text := in.Get(key)
	if text == "" {
		return false, nil
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("query parameter %s: %q is neither true nor false", key, text)
	}
	return b, nil
}
