// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

// The label kubi.zone/parent-zone is `<name>.<namespace>` of the zone. A text of more than 63 characters is cut, and a
// hash of the whole text follows. Labels are valid, differ between zones, and never change, because users write them
// into selectors.
func TestParentLabel_S6_12(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	of := map[string]string{}
	for _, c := range []struct{ what, object, namespace, want string }{
		{"a short name", "example-org", "default", "example-org.default"},
		{"63 characters", x(61), "n", x(61) + ".n"},
		{"64 characters", x(62), "n", x(52) + "-6020555ea0"},
		{"the longest there is", x(253), x(63), x(52) + "-c4bbf54f49"},
		{"the dot before the namespace at the cut", x(51), "longer-namespace", x(51) + "-19b69a333b"},
		{"a dot at the cut", x(51) + ".example.org", "default", x(51) + "-ec4280eb7d"},
		{"dashes at the cut", x(50) + "--org", "longer-name", x(50) + "-b5c42cbf9d"},
		{"another name after the cut", x(60) + "a", "default", x(52) + "-e69d1e5422"},
		{"and another", x(60) + "b", "default", x(52) + "-feb76d79d1"},
		{"another namespace after the cut", x(60), "aaa", x(52) + "-c04badf1ee"},
		{"and another one", x(60), "bbb", x(52) + "-4dd8d6cf1d"},
	} {
		got := parentLabel(c.namespace, c.object)
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
		if errs := validation.IsValidLabelValue(got); len(errs) > 0 {
			t.Errorf("%s: %s is no label value: %v", c.what, got, errs)
		}
		if other, is := of[got]; is {
			t.Errorf("%s has the label of %s: %s", c.what, other, got)
		}
		of[got] = c.what
	}
}
