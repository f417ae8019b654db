// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
)

// addConversionFuncs registers the field selectors of each kind, and the query parameters of zones/entries,
// zones/changes and records/changes.
func addConversionFuncs(scheme *runtime.Scheme) error {
	selectors := map[string][]string{
		"Zone":       {v1alpha1.FieldZoneFQDN, v1alpha1.FieldZoneView},
		"Delegation": {v1alpha1.FieldDelegationZoneRefName},
		"Delivery":   {v1alpha1.FieldDeliveryZoneName, v1alpha1.FieldDeliveryClassRefName},
		"Record": {v1alpha1.FieldRecordType, v1alpha1.FieldRecordZoneRefName, v1alpha1.FieldRecordFQDN, v1alpha1.FieldRecordZone,
			v1alpha1.FieldRecordAdopted, v1alpha1.FieldRecordReady, v1alpha1.FieldRecordWithdrawn},
	}
	for kind, labels := range selectors {
		if err := scheme.AddFieldLabelConversionFunc(v1alpha1.SchemeGroupVersion.WithKind(kind),
			convertFieldLabel(kind, labels)); err != nil {
			return err
		}
	}
	// Query parameters of subresources.
	if err := scheme.AddConversionFunc((*url.Values)(nil), (*v1alpha1.ZoneEntriesOptions)(nil),
		func(in, out any, _ conversion.Scope) error {
			return readEntriesOptions(*in.(*url.Values), out.(*v1alpha1.ZoneEntriesOptions))
		}); err != nil {
		return err
	}
	if err := scheme.AddConversionFunc((*url.Values)(nil), (*v1alpha1.RecordChangesOptions)(nil),
		func(in, out any, _ conversion.Scope) error {
			return readRecordChangesOptions(*in.(*url.Values), out.(*v1alpha1.RecordChangesOptions))
		}); err != nil {
		return err
	}
	return scheme.AddConversionFunc((*url.Values)(nil), (*v1alpha1.ZoneChangesOptions)(nil), func(in, out any, _ conversion.Scope) error {
		return readChangesOptions(*in.(*url.Values), out.(*v1alpha1.ZoneChangesOptions))
	})
}

var yesOrNo = []string{string(metav1.ConditionTrue), string(metav1.ConditionFalse)}

// valuesOf has the valid values of field selectors about conditions, since another value would select nothing. Older
// clients may write any case.
var valuesOf = map[string][]string{
	v1alpha1.FieldRecordAdopted:   yesOrNo,
	v1alpha1.FieldRecordReady:     append(yesOrNo, string(metav1.ConditionUnknown)),
	v1alpha1.FieldRecordWithdrawn: yesOrNo,
}

// convertFieldLabel returns a function that checks a field selector of a kind, and writes its value in canonical form.
// A value that no object can have is an error, since it would find nothing.
func convertFieldLabel(kind string, labels []string) runtime.FieldLabelConversionFunc {
	known := map[string]bool{"metadata.name": true, "metadata.namespace": true}
	for _, label := range labels {
		known[label] = true
	}
	return func(label, value string) (string, string, error) {
		// kubectl get --field-selector with a typo: list the selectors of the kind.
		if !known[label] {
			return "", "", fmt.Errorf("%q is not a field selector of %s: use metadata.name, metadata.namespace or one of %q", label, kind,
				labels)
		}
		switch label {
		case v1alpha1.FieldRecordType:
			// Types are compared in upper case.
			value = strings.ToUpper(value)
		case v1alpha1.FieldRecordFQDN: // of a Zone, too
			if value != "" { // "" selects Records of no zone
				fqdn, err := name.ParseTyped(value)
				if err != nil {
					return "", "", fmt.Errorf("%s: %w", label, err)
				}
				value = fqdn.String()
			}
		}
		if of := valuesOf[label]; of != nil {
			i := slices.IndexFunc(of, func(one string) bool { return strings.EqualFold(one, value) })
			if i < 0 {
				return "", "", fmt.Errorf("%s is not %q: use one of %q", label, value, of)
			}
			value = of[i]
		}
		return label, value, nil
	}
}

func readEntriesOptions(in url.Values, out *v1alpha1.ZoneEntriesOptions) error {
	out.Continue, out.Type, out.Name = in.Get("continue"), in.Get("type"), in.Get("name")
	out.Form, out.Format, out.Search = in.Get("form"), in.Get("format"), in.Get("search")
	return cmp.Or(readInt(in, "limit", &out.Limit), readBool(in, "sources", &out.Sources))
}

func readChangesOptions(in url.Values, out *v1alpha1.ZoneChangesOptions) error {
	out.Form, out.Format, out.Continue, out.SinceTime = in.Get("form"), in.Get("format"), in.Get("continue"), in.Get("sinceTime")
	out.FQDN = in.Get("fqdn")
	return cmp.Or(readInt(in, "since", &out.Since), readInt(in, "until", &out.Until), readBool(in, "sources", &out.Sources),
		readBool(in, "watch", &out.Watch), readInt(in, "limit", &out.Limit))
}

func readRecordChangesOptions(in url.Values, out *v1alpha1.RecordChangesOptions) error {
	out.FQDN, out.Enclosing = in.Get("fqdn"), in.Get("enclosing")
	out.Continue, out.SinceTime = in.Get("continue"), in.Get("sinceTime")
	return readInt(in, "limit", &out.Limit)
}

func readInt(in url.Values, key string, out *int64) (err error) {
	if text := in.Get(key); text != "" {
		if *out, err = strconv.ParseInt(text, 10, 64); err != nil {
			return fmt.Errorf("query parameter %s: %q is not a whole number", key, text)
		}
	}
	return nil
}

func readBool(in url.Values, key string, out *bool) (err error) {
	if text := in.Get(key); text != "" {
		if *out, err = strconv.ParseBool(text); err != nil {
			return fmt.Errorf("query parameter %s: %q is neither true nor false", key, text)
		}
	}
	return nil
}
