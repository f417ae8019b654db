// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"errors"
	"testing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// The last change of an ended zone lists all names that the provider has to remove. The changes of an existing zone
// list only a part, and must not be taken for that, because the provider would keep the rest (S3.5).
func TestLeft_isOfAnEndedZoneAlone_S3_7(t *testing.T) {
	entry := func(of string) v1alpha1.Entry { return v1alpha1.Entry{FQDN: "example.org.", Type: of} }
	for name, tc := range map[string]struct {
		changes []v1alpha1.ZoneChange
		want    error
	}{
		"ended":     {[]v1alpha1.ZoneChange{{Removed: []v1alpha1.Entry{entry("NS"), entry("MX")}}}, nil},
		"unchanged": {nil, errNotEnded},
		"changed":   {[]v1alpha1.ZoneChange{{Removed: []v1alpha1.Entry{entry("SOA"), entry("MX")}, Added: []v1alpha1.Entry{entry("SOA")}}}, errNotEnded},
		"SOA":       {[]v1alpha1.ZoneChange{{Removed: []v1alpha1.Entry{entry("SOA")}}}, errNotEnded},
		"twice":     {[]v1alpha1.ZoneChange{{Removed: []v1alpha1.Entry{entry("MX")}}, {}}, errNotEnded},
	} {
		answer := &v1alpha1.ZoneChanges{FQDN: "example.org.", Changes: tc.changes}
		answer.Metadata.UID = "z"
		keys, err := endedRRsets(answer, "z")
		if !errors.Is(err, tc.want) || err == nil && len(keys) != 2 {
			t.Errorf("%s: %v, %v", name, keys, err)
		}
		if _, err := endedRRsets(answer, "another"); !errors.Is(err, errNoZone) {
			t.Errorf("%s of another zone: %v", name, err)
		}
	}
}
