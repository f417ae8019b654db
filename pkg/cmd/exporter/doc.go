// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exporter is the sub-command to export a zone as a zone file or manifests.
//
// Guarantees:
//
//	X1. The zone file is the content of the zone at a single serial, SOA and glue included.
//	X2. The manifests have no server-set fields. Applied to another server, they give a zone with the same content and
//	    hash; applied again, they change nothing.
//	X3. Objects that the user may not read are reported as missing.
//
// Out of scope: the content of a zone.
//
// Read exporter.go.
package exporter
