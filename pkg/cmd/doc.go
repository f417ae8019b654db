// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cmd is the command line of kubizone: the root command, its sub-commands and its log.
//
// Guarantees:
//
//	C1. No sub-command registers itself: New lists them.
//	C2. An error is one message on stderr, with the next step. Usage is only printed on request. Exit code 1 means no:
//	    a server differs, an object was refused, the store is damaged, a check fails. Exit code 2 means no answer: a
//	    server is silent, or the command line is wrong.
//	C3. The first Ctrl-C or SIGTERM stops in order, the second at once.
//	C4. Without -v the log has only warnings and errors.
//
// Out of scope: the work of the sub-commands.
//
// Read cmd.go.
package cmd
