// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exporter writes a zone out, from the command line: as the zone file that name servers load, or as the
// manifests it is made of.
//
// It promises:
//
//	X1. The zone file is the content of the zone at one serial, SOA and glue included.
//	X2. The manifests have no fields that a server sets: applied to another server they make a zone of the same
//	    content and hash, and applied again they change nothing.
//	X3. Objects that the user may not read are reported as missing.
//
// It does not know what a zone contains: it asks the API.
//
// Read exporter.go.
package exporter
