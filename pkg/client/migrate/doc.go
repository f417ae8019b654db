// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migrate converts the custom resources of other DNS operators to Zones, Records and DNSClasses, for `kubectl
// kubizone import`: kubizone v0.1 to v0.4, bindy, external-dns, Gardener's external-dns-management, and the operator
// with DNSRecords and a webhook.
//
// Guarantees:
//
//	M1. Each object or field not carried over is a Finding, with the reason and the fix. An object with a field that
//	    the converter does not understand is not converted.
//	M2. Users' labels and annotations stay. The replaced operator's fields, labels, finalizers and ownerReferences go.
//	M3. If two objects want a name, the older wins, as in bindy and external-dns-management. External-dns serves the
//	    data of both: each becomes a Record, and the server decides.
//
// Read migrate.go first, then a file for each operator.
package migrate
