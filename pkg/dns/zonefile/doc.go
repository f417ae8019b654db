// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zonefile writes and reads master files (RFC 1035 §5).
//
// Guarantees: (1) Read returns the entries given to Write, and BIND, Knot, NSD and PowerDNS load the file. (2) Read
// reports a bad line and continues. (3) Read opens no other file, and returns at most a record per line. (4) The owner
// of a rejected line applies to no other line.
//
// Out of scope: conflicts between records, and the types allowed in Records.
//
// Read write.go first, then read.go and line.go.
package zonefile
