// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objectname names Zones and Records that a program creates.
//
// Guarantees: (1) a name is a valid metadata.name, readable if the object can be parsed from the name; (2) zone, owner
// and type always have the same name; (3) different objects have different names, except for a collision of 40-bit
// digests, found at the creation.
//
// Out of scope: existing objects.
//
// Read objectname.go.
package objectname
