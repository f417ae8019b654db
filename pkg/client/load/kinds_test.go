// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestUnknownKind_namesTheKindThatIsMeant(t *testing.T) {
	for _, test := range []struct{ version, kind, want string }{
		{"kubi.zone/v1alpha1", "Record", ""},
		{"kubi.zone/v1alpha1", "ChangeSet", ""},
		{"bind9.kubi.zone/v1alpha1", "Bind9Cluster", ""},
		{"v1", "Secret", ""},
		{"cert-manager.io/v1", "Record", ""},
		{"acme.kubi.zone/v1alpha1", "ChallengePayload", ""},
		{"kubi.zone/v1alpha1", "Recrod", "kubi.zone/v1alpha1 has no kind Recrod; did you mean Record?"},
		{"kubi.zone/v1alpha1", "records", "did you mean Record?"},
		{"kubi.zone/v1alpha1", "DnsClass", "did you mean DNSClass?"},
		{"kubi.zone/v1alpha1", "Widget", "kubi.zone/v1alpha1 has no kind Widget"},
		{"kubi.zone/v1alpha1", "ZoneEntriesOptions", "has no kind ZoneEntriesOptions"},
		{"kubi.zone/v1alpha1", "Bind9Cluster", "which is of bind9.kubi.zone/v1alpha1"},
		{"kubi.zone/v1", "Record", "apiVersion kubi.zone/v1 is unknown: the version is v1alpha1"},
		{"kubi.zone/v1beta1", "Recrod", "the version is v1alpha1"},
		{"bind9.kubi.zone/v1", "Bind9Cluster", "the version is v1alpha1"},
		{"kubizone/v1alpha1", "Zone", "apiVersion kubizone/v1alpha1 is unknown; did you mean apiVersion: kubi.zone/v1alpha1?"},
	} {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion(test.version)
		o.SetKind(test.kind)
		reason, fix := UnknownKind(o)
		if (reason == "") != (test.want == "") || (fix == "") != (reason == "") || !strings.Contains(reason+"; "+fix, test.want) ||
			test.kind == "Widget" && strings.Contains(fix, "did you mean") {
			t.Errorf("%s %s: %q, %q, want %q", test.version, test.kind, reason, fix, test.want)
		}
	}
}
