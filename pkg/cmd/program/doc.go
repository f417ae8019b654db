// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package program is the command line of each program: log, errors and exit codes.
//
// Guarantees:
//
//	P1. The sub-commands are listed in a slice; none registers itself.
//	P2. An error is a single message on stderr, with the next step. Usage is only printed on request. Exit code 1
//	    means no (a server differs, an object was refused, a check fails), 2 that the command could not (a server is
//	    silent, the command line is wrong).
//	P3. The first Ctrl-C or SIGTERM stops in order, the second at once.
//	P4. Without -v the log has only warnings and errors.
//
// Out of scope: the work of a sub-command, in a package of its own.
//
// Read first: program.go, log.go.
package program
