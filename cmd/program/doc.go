// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package program runs the command line of each program of Kubizone: it sets up the log, handles signals, prints
// errors, and chooses the exit code.
//
// Guarantees:
//
//	P1. An error is a single message on stderr, which tells the user what to do. Usage is printed only on request.
//	P2. Exit code 1 means no: a server differs, an object was refused, a check fails. Exit code 2 means that the
//	    command could not answer: a server is silent, a flag is wrong.
//	P3. The first Ctrl-C or SIGTERM stops in order, the second at once.
//	P4. Without -v the log has only warnings and errors.
//
// Read first: program.go, log.go.
package program
