// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process is the shell of sub-commands that work apart from the API server on zones that they read from it:
// probes, metrics, and the order in which things start and end.
//
// It promises: (1) /livez says that the process runs, /readyz that it works or could, or that it does not yet; both
// need no credentials and name no zone. /metrics has what the run registered, and nothing of another run in the same
// process. (2) Work begins when every zone is there; until then it says what it waits for. (3) Reading goes on until
// work has ended, however long that takes after the order to end. (4) A run that was told to end has no error.
//
// It does not know what the work is.
//
// Read process.go.
package process
