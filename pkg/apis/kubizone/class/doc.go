// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package class says what a DNSClass and a zone are to each other, for the server that admits zones to classes and
// for the controller that delivers them, and which kind of provider a class has.
//
// It promises: (1) what the server admits by Admits and Delivers the controller delivers by them, given the same
// labels; (2) a selector that does not parse selects nothing; (3) DeliveryName is the same for ever for one zone and
// one class, and differs between two zones of one name that stood one after the other; (4) each provider block of
// DNSClassSpec is a kind of provider.
//
// It does not know where classes and namespaces are kept.
//
// Read class.go, then servers.go.
package class
