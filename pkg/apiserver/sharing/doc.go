// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sharing saves memory in the API server's watch caches. Each write of a Record also writes its Zone, so a
// cache has many almost equal versions of it. This package decodes them so that equal parts are in memory once.
//
// Guarantees:
//  1. Decoding gives the same object as the wrapped codec. Decoded objects are read-only, since others share their
//     memory.
package sharing
