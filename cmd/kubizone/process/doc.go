// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process runs commands that work on zones, such as kubizone controller, in a process of their own or the API
// server's. It serves probes and metrics, reads all zones, then calls the command's work.
//
// Guarantees:
//  1. /livez answers while the process runs. /readyz reports whether it works, or is a standby that could. Neither
//     needs credentials or names a zone.
//  2. Work begins when every zone is read. Meanwhile the log has the reason of the wait.
//
// Read process.go.
package process
