// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package embed keeps the one data directory of a server: its lock, its format number, and the etcd member that stores
// everything in it, alone or as one of several.
//
// It promises:
//
//	E1. One process at a time: the second to open a directory gets an error that names the directory and the holder's
//	    process id, before anything in it is read or written.
//	E2. A directory written by a newer format is refused untouched.
//	E3. Only the owner of the directory reads or writes through it: clients reach it by a unix socket inside a
//	    directory of mode 0700 and by no port. A sole member has no peer listener at all; one of several has one that
//	    speaks TLS with clients that show a certificate of the peers' own CA.
//	E4. etcd's fatal errors do not end the process. They arrive as one error on Failed, which says what to do.
//	E5. Stop answers what is in flight, closes the store and releases the lock, in this order.
//	E6. A member with data rejoins under the name that it had, whatever its flags say of the others. One without data
//	    never takes the place of one that had data: it waits to be let in, and names the command that lets it in.
//
// It does not know what is stored: keys, API groups and their compaction belong to the API server and the ledger. Two
// mechanisms of compaction would cut each other's history, so etcd's own stays off; upstream's compactor in the API
// server keeps five minutes for watches to resume.
// pkg/ledger/etcd has what the ledger asks of etcd as its client.
//
// Read embed.go first, then dir.go, then cluster.go.
package embed
