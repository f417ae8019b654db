// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transfer hands zones to secondaries that fetch them: it puts a zone among those of its class at the hidden
// primary, and asks the secondaries how far they are.
//
// It promises: (1) A serial is confirmed when every listed secondary answered for the zone with it, authoritatively and,
// where it has a key, signed. (2) One that is ahead of what the primary hands out is SerialBehind, with the code TSIG
// where two signed answers say so: only then may a zone's serial be raised after it (S6.6). (3) A secondary that does
// not answer keeps none of the others waiting, and has its own row.
//
// It does not know how zones get to secondaries, nor what is in them: Members does. It writes nothing outside of this
// process, but asks the fence before a zone becomes visible or ceases to be, because that is seen outside.
//
// Read provider.go, then probe.go.
package transfer
