// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package class relates DNSClasses to zones, for the server's admission and the controller's delivery, and tells
// the provider of a class.
//
// Guarantees: (1) for the same labels, the controller delivers by Admits and Delivers as the server admits; (2) an
// invalid selector selects nothing; (3) DeliveryName is constant for a zone and a class, and differs between
// successive zones of a name; (4) each provider block of DNSClassSpec is a kind of provider.
//
// Out of scope: the storage of classes and namespaces.
//
// Read class.go, then servers.go.
package class
