// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package client is the command line of kubectl-kubizone, the client of the API for people.
//
// Guarantees:
//
//  1. A command has only the rights of the kubeconfig's user.
//  2. The program links neither etcd nor a server.
//  3. Usage and errors name the program as typed, kubectl kubizone.
package client
