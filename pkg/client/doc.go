// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package client has the answers that people ask the API for: why a name does not resolve, where a name is, who changed
// a Record and how to take the change back, what a file would change, whether servers answer with the zone's content,
// and what objects of another operator become. The commands of kubectl kubizone and the console print them.
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
