// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd_test

import (
	"os"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/cmd/restore"
	"kubi.zone/kubizone/test/must"
)

func TestRestore_saysAllThatIsWrong(t *testing.T) {
	for want, arguments := range map[string][]string{
		"--data-dir: must not be empty":                                    {"backup"},
		"--etcd-member-name and --etcd-initial-cluster: give both or none": {"backup", "--data-dir", "data", "--etcd-member-name", "a"},
	} {
		if err := runRestore(t, arguments...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

func runRestore(t *testing.T, arguments ...string) error {
	t.Helper()
	command := restore.NewCommand()
	command.SetArgs(arguments)
	command.SilenceUsage, command.SilenceErrors = true, true
	return command.ExecuteContext(t.Context())
}

// (1): without a backup no directory is created.
func TestRestore_leavesNothingWhereTheBackupIsMissing(t *testing.T) {
	dir := t.TempDir()
	must.Say(t, runRestore(t, dir+"/nothing", "--data-dir", dir+"/data"), "nothing.manifest.json is not beside it")
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
