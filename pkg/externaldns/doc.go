// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externaldns is what endpoints of external-dns are as Records.
//
// It promises:
//
//	X1. What an endpoint says is in the Record whole, or the endpoint is refused with the field, the rule and the next
//	    step: a routing policy or a property of another provider is never dropped without a word.
//	X2. An RRset has one Record, in the namespace of the object that its endpoint comes from. Of several objects that
//	    want one RRset, the one whose Record stands keeps it, if a zone takes that; without one, the first that the
//	    server lets in. What is chosen does not depend on the order of a list.
//	X3. An endpoint that Choose answers with equals what ReadEndpoint says of its Record, so that external-dns plans
//	    no change where there is none.
//	X4. What a server refuses, or has not decided, removes nothing that stands.
//	X5. Only its own object changes or removes a Record. External-dns joins the endpoints of several objects and
//	    names one of these, so an endpoint of another namespace's object withdraws no Record.
//
// It does not know a server: the caller supplies the verdict on each Record, and the texts of each object.
//
// Read record.go first, then choose.go; contract has what external-dns sends.
package externaldns
