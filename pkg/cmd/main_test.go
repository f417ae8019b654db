// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd_test

import (
	"os"
	"testing"

	"kubi.zone/kubizone/test/store"
)

// The small tests of commands that contain the whole server stand here, each in the file of its command: to link a
// test binary with the server takes 6 s of processor time, ten times as long as any of these tests.
func TestMain(m *testing.M) { os.Exit(store.Main(m)) }
