// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import "os"

// Long reports whether tests take their long form: `make test-long`, before an issue ends and before a release. What
// has one has a short form too, which `make test` runs.
func Long() bool { return os.Getenv("KUBIZONE_TEST_LONG") != "" }
