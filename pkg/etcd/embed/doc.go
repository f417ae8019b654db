// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package embed keeps a server's data directory: lock, format, and the etcd member inside, alone or in a cluster.
//
// Guarantees:
//
//	E1. One process at a time: the second to open a directory gets an error with the directory and the first one's
//	    process id, before anything is read or written.
//	E2. A directory in a newer format is rejected untouched.
//	E3. Only the directory's owner has access: clients connect to a unix socket in a directory of mode 0700, and
//	    no port. A sole member has no peer listener. A cluster's member has a TLS listener, for peers with a
//	    certificate of their own CA.
//	E4. Fatal errors of etcd do not end the process, but arrive on Failed, with the next step.
//	E5. Stop answers requests in flight, closes the store and releases the lock, in this order.
//	E6. A member with data rejoins under its name, and ignores flags about other members. A member without data
//	    never takes the place of a member that had data: Start fails, and names the command that admits the
//	    member.
//
// Out of scope: the content of the store. Two compactors would cut each other's history, so etcd's own is off; the
// API server's keeps five minutes for watches to resume. pkg/ledger/etcd has the ledger's requirements of an etcd
// client.
//
// Read embed.go first, then dir.go, then cluster.go.
package embed
