// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
)

const (
	MaxReverseZones = 16
	// MaxReverseItems limits the namespaces and the prefixes of a rule, since each address is compared with them.
	MaxReverseItems = 100
)

// validateReverse validates spec.reverse of the Zone of a name. Whether the zones exist is not asked.
func validateReverse(r *v1alpha1.ZoneReverse, zone string) (errs field.ErrorList) {
	if r == nil {
		return nil
	}
	path := specPath.Child("reverse")
	if len(r.Zones) == 0 {
		errs = append(errs, refusal.Cite("S16.1", field.Required(path.Child("zones"),
			"the Zones of this namespace whose addresses get PTR, by their metadata.name")))
	}
	errs = append(errs, validateSet(r.Zones, MaxReverseZones, path.Child("zones"), func(text string, at *field.Path) field.ErrorList {
		if text == zone && zone != "" {
			return field.ErrorList{refusal.Cite("S16.1", field.Invalid(at, text,
				"is this Zone itself: name the zones that have A and AAAA"))}
		}
		return validateObjectName(text, "the metadata.name of a Zone of this namespace", at)
	})...)
	errs = append(errs, validateSet(r.Namespaces, MaxReverseItems, path.Child("namespaces"), validateNamespace)...)
	return append(errs, validateSet(r.Prefixes, MaxReverseItems, path.Child("prefixes"), validatePrefix)...)
}

func validatePrefix(text string, path *field.Path) field.ErrorList {
	prefix, err := netip.ParsePrefix(text)
	wrong := ""
	switch {
	case err != nil:
		wrong = "is no network: write 192.0.2.0/28 or 2001:db8::/32"
	case prefix.Addr().Is4In6():
		wrong = "is an IPv4 network mapped into IPv6: write it as IPv4"
	case prefix != prefix.Masked():
		wrong = fmt.Sprintf("has bits behind its length: write %s", prefix.Masked())
	default:
		return nil
	}
	return field.ErrorList{refusal.Cite("S16.1", field.Invalid(path, cut(text), wrong))}
}
