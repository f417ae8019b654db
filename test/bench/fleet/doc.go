// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command fleet measures many BIND servers as objects: what a fleet, a controller and a primary ask while nothing
// changes, what memory they have, how long it takes until a change of an option is in every server's configuration, and
// until a changed zone is at every server. `make bench-fleet` runs it.
//
// It promises:
//
//	(1) The control plane, `kubizone apiserver`, fleet, controller and primary are the programs that are shipped.
//	(2) Pods are made by Kubernetes' own controllers; no process runs in them. In place of each named a follower
//	    answers at the address of its Service: it transfers for real what it is told of, signed, and answers the SOA
//	    that it has. All followers are one process, so they are the load and not what is measured.
//	(3) Requests are counted from the audit logs of both servers, by user agent, verb and resource.
//
// It does not know any package of the servers: it meets them as a cluster does. It needs root, because the addresses of
// Services have port 53.
//
// Read stage.go (what runs), then run.go (what is measured, in order).
package main
