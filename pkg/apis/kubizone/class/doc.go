// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package class decides which zones a DNSClass delivers, for admission and delivery, and finds its provider and
// servers.
//
// Guarantees: (1) for the same labels, the controller delivers the zones that the server admits (Admits, Delivers); (2)
// an invalid selector selects nothing; (3) DeliveryName is constant for a zone and a class, and differs for successive
// zones of a name.
//
// Out of scope: the storage of classes and namespaces.
//
// Read class.go, then servers.go.
package class
