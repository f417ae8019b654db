// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rfc2136 is a back end of the webhook server that writes into a DNS server by dynamic update (RFC 2136).
//
// It promises: (1) an RRset is replaced in one update, so no query sees half of it; (2) what is answered as done stands
// at the server: servers ignore in silence what cannot stand beside other records, so after each update the server is
// asked whether the RRset is there; (3) requests are signed, over TCP, and an answer without a good signature is none;
// (4) the name servers of a zone are replaced without being gone in between; (5) a record that the server does not
// take, while it takes others, is refused by itself.
//
// It does not know which zones there are: the DNS server has them, and says when it lacks one.
//
// Read backend.go; there is nothing else.
package rfc2136
