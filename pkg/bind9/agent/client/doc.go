// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package client makes, changes and removes zones at one server by the HTTP API of an agent: that of Kubizone, or a
// bindcar of 0.7.3 or later.
//
// It promises:
//
//	C1. One request at a time goes to a server, at the pace that its dialect allows. One that would come too late is
//	    not sent: the caller is told when to come back, and does other work meanwhile.
//	C2. A bindcar is sent a new zone only after it has said, in the same turn, that it has none of that name: it would
//	    overwrite the file and remove the journal of one that it has.
//	C3. A zone for which the dialect has no form is refused here, with the reason, and nothing is sent.
//	C4. Answers are bounded in octets, time and number of keys, and redirects are not followed.
//
// The package knows nothing of classes or deliveries: which zones a server has its caller decides, and asks its fence
// before each request that changes something.
//
// Read client.go, then dialect.go.
package client
