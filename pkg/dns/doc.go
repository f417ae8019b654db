// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dns defines the DNS types that all of Kubizone shares. An Entry is a resource record of a zone, such as
// www.example.org. 300 IN A 192.0.2.1. A Change contains the Entries removed and added between two serials of a zone.
//
// Guarantees:
//
//  1. The packages in dns/ contain no rules of Kubizone.
//
//  2. No function does I/O, reads a clock or blocks.
//
//  3. Values are immutable.
//
//  4. A package imports no other house: a program without Kubernetes can use it.
//
// For: whatever reads or writes DNS. Read entry.go, then name/name.go.
package dns
