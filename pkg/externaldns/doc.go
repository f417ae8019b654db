// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externaldns converts endpoints of external-dns to Records.
//
// Guarantees:
//
//	X1. A Record has all of an endpoint, or the endpoint is refused with field, rule and next step. Routing policies
//	    and other providers' properties are never dropped silently.
//	X2. An RRset has one Record, in the namespace of the endpoint's object. If several objects want an RRset, the
//	    object of an adopted Record keeps it; else the first admitted object gets it, in any order of lists.
//	X3. Endpoints answered by Choose equal ReadEndpoint of their Records, so external-dns plans no needless change.
//	X4. A refused or undecided candidate removes no Record.
//	X5. Only its own object changes or removes a Record, although external-dns joins the endpoints of several objects.
//
// Out of scope: a server. The caller has the verdict on each Record, and the texts of each object.
//
// Read record.go first, then choose.go; package contract has the protocol.
package externaldns
