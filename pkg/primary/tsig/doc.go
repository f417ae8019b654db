// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tsig signs DNS messages with shared keys, and verifies the signatures of others (RFC 8945).
//
// It promises: (1) no error, and no form of a Key, shows a secret; (2) a signature holds only with its whole MAC,
// within Fudge of its time; (3) the key of a message is found by its canonical name, and has one algorithm.
//
// It does not know the rights of a key, and parses no message: the caller reads the TSIG record.
//
// Read key.go, then sign.go, then verify.go.
package tsig
