// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zonefile writes and reads zones as master files (RFC 1035 §5).
//
// It promises: (1) what Write writes, Read reads back as the same entries, and
// BIND, Knot, NSD and PowerDNS load it: names are absolute, there are no
// directives, and a type that one of them does not know is written in the
// generic form; (2) Read reports a bad line and goes on with the next: one
// typing error does not hide the rest of a file; (3) Read opens no other file
// and makes no more records than there are lines, whatever its input says;
// (4) a line whose owner was refused lends its owner to no other line.
//
// It does not know which records may stand beside each other, nor which types
// may be Records; it hands on what is well-formed.
//
// Read write.go, which is short, then read.go; line.go knows what a line is.
package zonefile
