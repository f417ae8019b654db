// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package signing makes the signer of a fleet (a hidden BIND server with the keys) sign zones, rolls their keys over,
// and ends their signing.
//
// Guarantees:
//
//	G1. A new process continues at any point, from a zone's status, the signer's keys and the servers.
//	G2. A DS record is requested only when every server of the class serves the DNSKEY, and older answers have left
//	 all caches. The request ends only with the key's replacement, or with the signing.
//	G3. A DS is reported to named (BIND) only when every server of the parent has it, or when none has it any more.
//	G4. A zone with lost keys is not signed with other keys.
//	G5. Servers get the unsigned zone again only when the DS has left all caches.
//	G6. A slow agent or server delays only zones of its namespace (places.go).
//	G7. A zone at a signer is removed only for the Zone object signed there, or if no Zone object is signed there, but
//	 never for another Zone with the same name.
//
// Read decide.go (the next step, from facts alone), then zone.go, then signer.go, then sweep.go.
package signing
