// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cmd is the command line of kubizone, the program of servers and of the store.
//
// Guarantees: (1) a command of the client, kubectl-kubizone, ends with exit code 2, and prints the command line to
// type.
//
// Out of scope: the client (package client); errors, exit codes and the log (package program).
//
// Read kubizone.go.
package cmd
