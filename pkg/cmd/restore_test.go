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
	good := restore.Options{DataDir: "data"}
	must.Succeed(t, good.Validate())
	for want, change := range map[string]func(*restore.Options){
		"--data-dir: must not be empty":                                    func(o *restore.Options) { o.DataDir = "" },
		"--etcd-member-name and --etcd-initial-cluster: give both or none": func(o *restore.Options) { o.MemberName = "a" },
	} {
		o := good
		change(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

// (1): without a backup there is no directory either.
func TestRestore_leavesNothingWhereTheBackupIsMissing(t *testing.T) {
	dir := t.TempDir()
	command := restore.NewCommand()
	command.SetArgs([]string{dir + "/nothing", "--data-dir", dir + "/data"})
	command.SilenceUsage, command.SilenceErrors = true, true
	if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "nothing.manifest.json is not beside it") {
		t.Errorf("restored: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
