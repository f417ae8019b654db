// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package client calls the HTTP API of an agent to create, change and remove zones: Kubizone's agent, or bindcar
// 0.7.3 or later.
//
// Guarantees:
//
//	C1. One request at a time goes to a server, at the rate of its dialect. A request that would have to wait too long
//	    is an error with the time of the retry.
//	C2. A new zone is only sent to a bindcar after a check, in the same slot, that the bindcar has no such zone, whose
//	    file it would overwrite and whose journal it would remove.
//	C3. A zone that the dialect cannot express is an error, and nothing is sent.
//	C4. Answers are bounded in octets, time and number of keys, and redirects are not followed.
//
// Out of scope: which zones a server should have: the caller decides, and its fence is called before
// each request with changes.
//
// Read client.go, then dialect.go.
package client
