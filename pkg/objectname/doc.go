// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objectname names Zones and Records that a program creates.
//
// Guarantees: (1) a name is a valid metadata.name, and describes the object if that can be read back; (2) zone,
// owner and type always have the same name; (3) different objects have different names, except for a collision of 40
// bits, which the object's creation detects.
//
// Out of scope: the existing objects.
//
// Read objectname.go.
package objectname
