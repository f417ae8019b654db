// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dnsclass is the door of classes: the REST storage of dnsclasses.kubi.zone and its subresources status and
// finalizers.
//
// It promises: (1) spec is the cluster admin's and status the controller's: a write of one leaves the other as it is;
// (2) a secret in the class itself is refused unless the server was told to take it; (3) nothing of a Secret that a
// class names is read here, so no answer can show it.
//
// It does not know providers nor deliveries: package class of the API decides which zones a class may deliver.
//
// Read storage.go first; lister.go says which classes are for a namespace.
package dnsclass
