// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"slices"
	"testing"
)

// kubectl asks the plugin for completions by another name.
func TestComplete_isThatOfKubectl(t *testing.T) {
	for started, want := range map[string][]string{
		"/bin/kubectl-kubizone": {"may"}, "C/kubectl-kubizone.exe": {"may"}, "/krew/kubectl_complete-kubizone": {"__complete", "may"},
	} {
		if got := complete(started, []string{"may"}); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", started, got, want)
		}
	}
	if path := New().CommandPath(); path != "kubectl kubizone" {
		t.Errorf("usage names %q", path)
	}
}
