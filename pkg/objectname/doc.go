// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objectname gives Zones and Records that a program makes their names.
//
// It promises: (1) a name is a valid metadata.name, and says what it is of where that can be read back from it; (2) it
// is the same for the same zone, owner and type each time; (3) two of them share no name but by a clash of 40 bits,
// which the creation of the object finds.
//
// It does not know which objects there are.
//
// Read objectname.go.
package objectname
