// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package situations reads the stories of docs/situations.md. Tests of pkg/zone/law run them without a server, tests of
// pkg/zone/ledger with a server and etcd.
//
// Guarantees:
//
//  1. Each situation has a number, the rules that answer it, a story and an answer.
//  2. Each story begins with that of the page's zone.
//  3. Answers are reduced to the page's words.
package situations
