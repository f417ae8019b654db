// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transfer delivers zones to secondaries, which fetch each zone from hidden primaries. The Provider asks the
// secondaries for their serials.
//
// Guarantees:
//
//  1. A serial is confirmed when every listed secondary has answered with this serial, with authority, and signed if
//     the secondary has a key.
//  2. A secondary ahead of the stored zone causes the error SerialBehind. After two signed answers its code is TSIG,
//     and only then may the zone's serial be raised (S6.11).
//  3. A silent secondary delays no other.
//  4. A secondary that signs, and the secondaries behind it, have serials of their own, which are never taken for the
//     zone's. Their content is compared (S6.14).
//  5. The data of other secondaries is compared once a day. A secondary with other data at the zone's serial confirms
//     nothing (S6.11).
//  6. Transfers for comparisons are bounded.
//
// Read provider.go first.
package transfer
