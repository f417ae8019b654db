// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package signing has zones signed by the signers of fleets, rolls their keys over and ends their signing.
//
// Guarantees:
//
//	G1. The state of a zone is in its status, in the signer's keys and at the servers: a new process continues at any
//	    point.
//	G2. A DS record is requested only when every server of the class serves its key, and older answers have left all
//	    caches. The request ends only when another key has replaced it, or when the signing ends.
//	G3. named gets the report of a DS only when every server of the parent has it, or none has it any more.
//	G4. A zone with lost keys is not signed with other keys.
//	G5. Servers get the unsigned zone again only when the DS has left all caches.
//	G6. A slow agent or server delays only zones of its namespace (places.go).
//	G7. A zone at a signer is removed for the Zone that it signs, or if there is none, but for no other Zone of its
//	    name.
//
// decide.go decides the next step, signer.go chooses the signer, both from facts alone; zone.go reads the facts and
// takes the step.
//
// Out of scope: the transport of the DS to the parent (the API server derives the DS from the status), and of zones to
// servers (the primary sends a zone in IsBySigner only to the signer).
//
// Read decide.go, then zone.go, then signer.go, then sweep.go.
package signing
