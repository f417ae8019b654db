// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reasons explains the reasons of conditions, Warnings and Events, such as NameHeld, for commands such as
// `kubectl kubizone explain`. The explanations are the tables of docs/reasons.md, embedded in the program.
//
// Guarantees:
//
//	R1. Each reason of the API has a meaning, a remedy, and the role that can apply the remedy.
package reasons
