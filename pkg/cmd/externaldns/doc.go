// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externaldns is the sub-command external-dns: a webhook provider beside external-dns, by which its endpoints
// become Records in the namespaces of the objects that they come from.
//
// It promises:
//
//	E1. It writes Records where a RoleBinding lets it, and nowhere else. What it changes and deletes is its own, by
//	    label and field manager, in the namespace where it stands: never where a label of an endpoint says.
//	E2. What a server refuses is left out, with an Event on the source object that has the server's sentence. It
//	    blocks nothing else and fails no cycle, nor does a namespace that answers slowly or not, has very many
//	    endpoints, or has used up its budget.
//	E3. Each request is answered within ten seconds, by 200, 204 or a 5xx: external-dns ends at anything else. Work
//	    that takes longer goes on, and is 503 meanwhile.
//	E4. A cycle without changes writes nothing.
//	E5. It listens on loopback alone, for the protocol has neither passwords nor TLS.
//
// It does not know what an endpoint is as a Record, nor which of two objects has a name: pkg/externaldns decides that.
//
// Read options.go, then server.go and provider.go.
package externaldns
