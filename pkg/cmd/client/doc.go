// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package client is the command line of kubectl-kubizone, the client of the API for people.
//
// Guarantees: (1) a command has the rights of the kubeconfig's user, and links neither etcd nor a server; (2) usage and
// errors name the program as typed, kubectl kubizone.
package client
