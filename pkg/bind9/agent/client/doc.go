// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package client creates, changes and removes zones at a BIND server by the HTTP API of its agent, which is Kubizone's
// or bindcar 0.7.3 or later.
//
// Guarantees:
//
//	C1. A server gets one request at a time, at the rate of its dialect (kind and version of the agent). Instead of a
//	 long wait, the call returns an error with the time of the retry.
//	C2. A bindcar overwrites an existing zone's file and removes the journal. So a check that the zone is missing
//	 directly precedes a request to create it.
//	C3. For a zone that the dialect cannot express, the call returns an error, and sends nothing.
//	C4. Answers are bounded in octets, time and number of keys, and redirects are not followed.
//
// Read client.go, then dialect.go.
package client
