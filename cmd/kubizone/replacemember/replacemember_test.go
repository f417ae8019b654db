// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package replacemember

import (
	"strings"
	"testing"
)

func TestNewCommand_saysWhatItNeeds(t *testing.T) {
	for want, arguments := range map[string][]string{
		"--data-dir: must not be empty":             {"a", "--etcd-initial-cluster", "a=https://h:1"},
		"--etcd-initial-cluster: must not be empty": {"a", "--data-dir", "data"},
		"no etcd runs there":                        {"a", "--data-dir", t.TempDir(), "--etcd-initial-cluster", "a=https://h:1"},
	} {
		command := NewCommand()
		command.SetArgs(arguments)
		command.SilenceUsage, command.SilenceErrors = true, true
		if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v does not say %q", arguments, err, want)
		}
	}
}
