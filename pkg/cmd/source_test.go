// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/cmd/source"
	"kubi.zone/kubizone/test/must"
)

// S1
func TestSource_makesNoDataDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	if err := (&source.Options{DataDir: path}).Validate(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a directory that is not there: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
}

func TestSource_saysAllThatIsWrong(t *testing.T) {
	err := (&source.Options{KeyFile: "k"}).Validate()
	must.Say(t, err, "either --data-dir or --etcd-servers", "go with --etcd-servers", "give both or none")
	err = (&source.Options{Servers: []string{"etcd-0:2379"}, CAFile: "no-such-file"}).Validate()
	must.Say(t, err, `--etcd-servers "etcd-0:2379": write URLs, like https://`, "--etcd-cafile: ")
	if err := (&source.Options{DataDir: t.TempDir(), Servers: []string{"http://127.0.0.1:1"}}).Validate(); err == nil {
		t.Error("both stores at once are accepted")
	}
}
