// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exporter is the sub-command that exports a zone as a zone file or manifests.
//
// Guarantees:
//
//	X1. The zone file is the content at a single serial, SOA and glue included.
//	X2. The manifests have no server-set fields. Applied to another server, they give the same content and hash;
//	    applied again, no change.
//	X3. Objects that the user may not read are reported as missing.
//
// Out of scope: the content of a zone.
//
// Read exporter.go.
package exporter
