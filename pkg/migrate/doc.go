// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migrate makes Zones, Records and DNSClasses of the custom resources of other operators: kubizone v0.1 to
// v0.4, bindy, external-dns, external-dns-management of Gardener, and the one with DNSRecords and a webhook.
//
// It promises:
//
//	M1. Each object, or field, that is not carried over is a finding, with the reason and the next step. No object
//	    is made without a field that the converter does not understand.
//	M2. Labels and annotations that people wrote stay. Fields, labels, finalizers and owners that the replaced
//	    operator set go.
//	M3. Of two objects that want one name the older one has it, as in bindy and external-dns-management. External-dns
//	    joins them: each becomes a Record, and the server judges.
//
// It does not know a server: Convert is a function of the objects, and the server judges what it makes.
//
// Read migrate.go first, then one file for each operator.
package migrate
