// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package signing has zones signed by the signers of fleets, rolls their keys over and ends their signing.
//
// It promises:
//
//	G1. The state of a zone is in its status, in the keys of its signer and at the servers: a process that ends at any
//	    moment is continued by another one.
//	G2. A DS record is asked for only when every server of the class answers with its key, and answers of before have
//	    left all caches. It is not asked for any more only when another key has taken its place, or when the signing
//	    ends.
//	G3. named is told of a DS only when every server of the parent has it, or none has it any more.
//	G4. A zone whose keys are lost is not signed with others.
//	G5. Servers get the unsigned zone again only when the DS has left all caches.
//	G6. An agent or a server that does not answer delays zones of its namespace, and none of other ones (places.go).
//	G7. A zone is removed at a signer for the Zone that is signed by it, or where none is, and for no other Zone of
//	    its name.
//
// decide.go decides the next step from facts alone, signer.go chooses the signer from objects alone; zone.go reads both
// and takes the step. The package knows
// neither how a parent comes to contain the DS, which the API server derives from the status, nor how servers come to
// transfer from the signer: the primary hands a zone in IsBySigner to the signer alone.
//
// Read decide.go, then zone.go, then signer.go, then sweep.go.
package signing
