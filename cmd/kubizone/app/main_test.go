// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"os"
	"testing"

	"kubi.zone/kubizone/test/store"
)

// The tests that link the whole server share this package: a link takes 6 s of CPU time, ten times as long as any of
// them.
func TestMain(m *testing.M) { os.Exit(store.Main(m)) }
