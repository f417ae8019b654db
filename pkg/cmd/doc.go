// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cmd is the command line of kubizone: the root command, its sub-commands, its log.
//
// It promises:
//
//	C1. A sub-command is one line in a plain slice; nothing registers itself.
//	C2. An error is one message on stderr and exit code 1; usage is printed when asked for, not as an answer to an
//	    error.
//	C3. The first Ctrl-C or SIGTERM stops in order, the second at once.
//	C4. The log is quiet: warnings and errors only, more with -v.
//
// What a sub-command does is in its own package; this one knows their names alone.
//
// Read cmd.go.
package cmd
