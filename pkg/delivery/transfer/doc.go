// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transfer hands zones to secondaries that fetch them: it has a zone written down as one of its class, which is
// what hidden primaries go by, and asks the secondaries how far they are.
//
// It promises: (1) A serial is confirmed when every listed secondary answered for the zone with it, authoritatively
// and, where it has a key, signed. (2) One that is ahead of the zone where it is kept is SerialBehind, with the code
// TSIG where two signed answers say so: only then may a zone's serial be raised after it (S6.11). (3) A secondary that
// does not answer keeps none of the others waiting, and has its own row. (4) The serials of a secondary that signs, and
// of those behind it, are never taken for the zone's: what it has is found out by transfers, whose octets and time are
// bounded for each zone and for the class (S6.14).
//
// It does not know primaries, nor what is in zones. It writes nothing by itself: the fence that it asks before a zone
// becomes visible, and before it ceases to be, writes the intent, and primaries show what is written.
//
// Read provider.go, then probe.go and last.go; signer.go and digest.go are about secondaries that sign.
package transfer
