// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package embed runs an etcd member in the server's process, alone or in a cluster, and locks its data directory.
//
// Guarantees:
//
//	E1. A single process opens a directory. A second process reads and writes nothing: its error has the directory
//	    and the first process's ID.
//	E2. A directory in a newer format is rejected unchanged.
//	E3. Only the directory's owner has access. Clients connect to a unix socket in a directory of mode 0700, never to
//	    a port. A sole member has no peer listener; a cluster's member has a TLS listener, for peers with certificates
//	    of their own CA.
//	E4. Fatal errors of etcd do not end the process. Failed and Err report them, with the remedy.
//	E5. Stop answers requests in flight, then closes the store. Then the caller releases the lock.
//	E6. A member with data rejoins under its name, and ignores flags about other members. A member without data never
//	    takes the place of one that had data: Start fails, and names the command that admits the member.
//
// Read embed.go first, then dir.go, then cluster.go.
package embed
