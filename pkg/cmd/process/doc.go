// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process runs sub-commands that work on zones, beside the API server or in its process, with probes and
// metrics.
//
// Guarantees: (1) /livez answers while the process runs, /readyz reports whether it works or could work. Neither needs
// credentials or names a zone. (2) Work begins when every zone is read; the wait is logged. (3) Reading continues until
// the work has ended. (4) A run whose context ends returns nil.
//
// Out of scope: the work itself.
//
// Read process.go.
package process
