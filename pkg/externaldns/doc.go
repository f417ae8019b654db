// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externaldns converts endpoints of external-dns to Records, for the webhook provider `kubizone external-dns`.
// An endpoint is an RRset wanted by an object, such as a Service or an Ingress. If several objects want an RRset,
// Choose decides.
//
// Guarantees:
//
//	X1. A Record has all of an endpoint, or the endpoint is refused with field, rule and next step.
//	X2. An RRset has one Record, in the namespace of the endpoint's object. The object of a Record that a zone has
//	    adopted keeps the RRset. Otherwise the first object admitted by the server gets it, in any order of lists.
//	X3. The endpoints that Choose returns equal the endpoints read from the Records later, so external-dns plans no
//	    needless change.
//	X4. A refused or undecided candidate (a wanted RRset) removes no Record.
//	X5. Only its own object changes or removes a Record, although external-dns joins the endpoints of several objects.
//
// Read record.go first, then choose.go; package contract has the protocol.
package externaldns
