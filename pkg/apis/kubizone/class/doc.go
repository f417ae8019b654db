// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package class interprets a DNSClass, the API object that names the DNS servers of zones. It finds the zones that the
// class may deliver (by view and namespace), the kind of provider (such as bind9 or webhook), and the BIND servers.
//
// Guarantees:
//  1. For the same labels of a namespace, the controller delivers the zones that the server admits, since both call
//     Admits and Delivers.
//  2. DeliveryName, the name of the object with a zone's progress in a class, never changes. A Zone created again has
//     another name.
//
// Read class.go, then servers.go.
package class
