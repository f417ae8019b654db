// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cmd is the command line of kubizone, the program of servers and of the store.
//
// Guarantees: (1) a word of the client ends with exit code 2, and prints the command of kubectl-kubizone to type.
//
// Out of scope: the client, which package client has; errors, exit codes and the log, which package program has.
//
// Read kubizone.go.
package cmd
