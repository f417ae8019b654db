// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zonefile reads and writes zone files, also called master files (RFC 1035 §5).
//
// Guarantees:
//
//  1. Read returns the entries given to Write. BIND, Knot, NSD and PowerDNS load the written file.
//  2. Read reports a bad line as a LineError, and continues with the next line.
//  3. Read opens no other file and expands nothing: $INCLUDE and $GENERATE are errors.
//  4. A line that begins with a blank has the owner of the line above. If that owner was rejected, so is the line.
//
// Read write.go first, then read.go and line.go.
package zonefile
