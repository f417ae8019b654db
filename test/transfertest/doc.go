// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transfertest is the primary of a class in a test of a provider whose servers fetch zones.
//
// Guarantees:
//
//  1. Begin returns a running primary at a free loopback port and stops it after the test. Its errors fail the test.
//  2. Its one class has the zones that PutZone served and StoreMember named, as the catalog says.
package transfertest
