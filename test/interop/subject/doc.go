// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package subject is the server that the interop tests hold against real neighbours: the
// hidden primary over a zoneview.Set, with zones made from master files.
//
// It promises:
//
//  1. A zone made from a master file has the file's records and nothing else.
//  2. A server that Start starts has ended when the test has.
//
// It does not know what a right answer is: that is said by the neighbours of test/rig,
// which share no code with it.
//
// Read subject.go; there is nothing else.
package subject
