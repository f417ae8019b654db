// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exporter is the command kubectl kubizone export. It prints a zone as a zone file, or as manifests of its
// objects.
//
// Guarantees:
//
//	X1. The zone file has the content at a single serial, with SOA and glue.
//	X2. The manifests have no field that the server sets. Applied to another server, they give the same content and
//	    hash. Applied a second time, they change nothing.
//	X3. Objects that the user may not read are reported as missing.
package exporter
