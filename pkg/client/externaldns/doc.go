// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externaldns converts endpoints of external-dns to Records, for the webhook provider `kubizone external-dns`.
// An endpoint is an RRset wanted by an object, such as a Service or an Ingress. If several objects want an RRset,
// Choose decides.
//
// Guarantees:
//
//	X1. A Record represents a whole endpoint, or the endpoint is refused with field, rule and next step.
//	X2. An RRset has one Record, in the namespace of the endpoint's object, in the default view. The object keeps the
//	    RRset if a zone has adopted its Record. Otherwise the first object that the server admits gets the RRset, in
//	    any order of endpoints, also if external-dns names another object.
//	X3. The endpoints that Choose returns equal the endpoints read from the Records later, so external-dns plans no
//	    needless change.
//	X4. A refused or undecided candidate (a wanted RRset) removes no Record.
//	X5. A Record is changed or removed only by its own object, although external-dns joins the endpoints of several
//	    objects.
//
// Read record.go first, then choose.go. Package contract has the protocol.
package externaldns
