// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package client creates, changes and removes zones at a BIND server by the HTTP API of the server's agent: Kubizone's
// agent, or bindcar 0.7.3 or later.
//
// Guarantees:
//
//	C1. A server gets one request at a time, at the rate of its dialect (kind and version of the agent). If a request
//	 would have to wait too long, the call returns an error with the time of the retry.
//	C2. A bindcar overwrites the file of an existing zone and removes the journal. So a request to create
//	 a zone directly follows a check that the bindcar does not have the zone.
//	C3. For a zone that the dialect cannot express, the call returns an error, and nothing is sent.
//	C4. Answers are bounded in octets, time and number of keys, and redirects are not followed.
//
// Out of scope: the choice of the zones of a server.
//
// Read client.go, then dialect.go.
package client
