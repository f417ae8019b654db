// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package situations reads the stories of docs/situations.md, which the tests of pkg/law and of pkg/ledger put to the
// law alone and to a server with etcd.
//
// It promises:
//
//  1. Each situation of the page has a number, the rules that answer it, a story and an answer.
//  2. Each story begins with that of the page's zone.
//  3. What the law says and what a server says are brought to the same short words, those of the page.
//
// It does not know what a command means.
//
// Read situations.go.
package situations
