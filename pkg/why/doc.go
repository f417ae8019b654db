// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package why follows a DNS name, an address or an object from the rule to the answers of name servers and of the
// parent's: a chain of links, of which the first that fails is the cause.
//
// Guarantees:
//
//	W1. Requests have the rights of the clients. A link names the right that it lacks, and its state is then Unknown or
//	    NotAsked, never Fails.
//	W2. A chain is decided by Judge, a pure function of Facts.
//	W3. Questions to servers take two seconds each and five together, and are bounded in number. Without Clients.Ask
//	    none is sent, so a process decides whether its users may have it send packets.
//	W4. Texts and lists of a chain are bounded. They have octets of tenants and servers: a printer escapes them.
//
// Out of scope: printing, and the decisions about Records, which their status has.
//
// Read first: ask.go answers a question, subject.go finds its Records and zones, read.go reads their objects, live.go
// asks servers, judge.go decides the links of objects and answers.go those of servers, facts.go has what is known, and
// chain.go the result.
package why
