// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package subrev_test

import (
	"os"
	"testing"

	"kubi.zone/kubizone/test/store"
)

func TestMain(m *testing.M) { os.Exit(store.Main(m)) }
