// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package app is the command line of the program kubizone, which runs the servers, and backs up, restores and checks
// the store. Users of zones have another program, kubectl-kubizone.
//
// Guarantees: (1) If a user types a command of kubectl-kubizone, such as kubizone apply, the program prints the command
// line to type instead, and ends with exit code 2.
package app
