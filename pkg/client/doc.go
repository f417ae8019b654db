// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package client has the answers that people ask the API for: why a name does not resolve, find (where a name is),
// history and undo, overview (the state of zones), plan and lint (the effect of files), load (their writing), verify
// (servers compared with a zone), migrate (objects of other operators), externaldns (endpoints as Records) and cluster
// (clients of Kubernetes' own groups). kubectl kubizone, the console and kubizone external-dns show or write them.
//
// For: authors of commands, consoles and CI jobs.
//
// Guarantees:
//  1. Every request has the rights of its user, and the API server decides it as any other.
//  2. Packages return values and print nothing.
//
// Imports: kit, dns, apis, and of zone the law and views of a single answer. Read first: why/doc.go, load/doc.go,
// history/doc.go.
package client
