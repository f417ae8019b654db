// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exporter writes a zone out, from the command line: as the zone file that name servers load, or as the
// manifests it is made of.
//
// It promises:
//
//	X1. The zone file is what the zone contains at one serial, SOA and glue included.
//	X2. The manifests hold nothing that a server wrote: applied to another server they make a zone of the same content
//	    and hash, and applied again they change nothing.
//	X3. What the user may not read is said to be missing; nothing is left out in silence.
//
// It does not know what a zone contains: it asks the API.
//
// Read exporter.go.
package exporter
