// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dnsclass is the REST storage of dnsclasses.kubi.zone and its subresources status and finalizers.
//
// It promises: (1) spec is the cluster admin's and status the controller's: a write of one does not change the other;
// (2) a secret in the class itself is refused unless the server is configured to accept it; (3) Secrets that a class
// names are not read here, so no answer can show them.
//
// It does not know providers nor deliveries: package class of the API decides which zones a class may deliver.
//
// Read storage.go first; lister.go says which classes are for a namespace.
package dnsclass
