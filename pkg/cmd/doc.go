// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cmd is the command line of kubizone: the root command, its sub-commands, its log.
//
// It promises:
//
//	C1. A sub-command is one line in a plain slice; nothing registers itself.
//	C2. An error is one message on stderr, with the next step; usage is printed when asked for, not as an answer to
//	    an error. Exit code 1 says that the command ran and its answer is no: a server differs, an object was
//	    refused, the store is damaged, a check fails. Exit code 2 says that there is no answer: a server did not
//	    answer, or the command line is wrong.
//	C3. The first Ctrl-C or SIGTERM stops in order, the second at once.
//	C4. The log is quiet: warnings and errors only, more with -v.
//
// It does not know what a sub-command does, which is in the package of each.
//
// Read cmd.go.
package cmd
