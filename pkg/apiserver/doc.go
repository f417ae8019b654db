// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver is the generic Kubernetes API server with kubi.zone in it: the scheme, the storage behind it,
// authentication and authorization, and the views that follow the journal.
//
// It promises:
//
//	A1. Every write of a Zone or Record goes through the ledger: the storage of both is decorated by it, and no
//	    other path to their keys is served.
//	A2. zones/entries and zones/changes answer at the serial of a Zone read from etcd or later (S7.1). Content
//	    that its hash does not prove is in no view: the zone is frozen, and no other zone waits for it.
//	A3. Standalone, a client with a certificate of group system:masters may do everything; any other client is
//	    refused with the reason, except on the paths of health and version. It also answers what clients ask of
//	    the cluster around an API: discovery of the core group, and SelfSubjectReview, SelfSubjectAccessReview.
//	A4. No object of ours has a TTL, and no corrupt one is deleted unread: both would take records out of a zone
//	    behind the ledger's back.
//	A5. A stopping server first says that it is not ready, then sends clients elsewhere with its answers, then answers
//	    the requests that it has accepted, then closes its connections to etcd.
//	A6. Behind a kube-apiserver, that server says which user makes a request and what the user may do. Headers
//	    that name a user are believed only from certificates whose name is on its list, and from none where the
//	    list is empty; an anonymous client sees the health paths and nothing else.
//	A7. Behind a kube-apiserver, it is ready when it has all permissions there that it needs; until then it names
//	    each RBAC rule that it lacks.
//	A8. Until it has been ready once it answers requests for objects with 503 and Retry-After.
//
// It does not decide anything about names and records (law, ledger), does not speak DNS (primary), and does not know
// where etcd runs: pkg/etcd/embed may be told to start one.
//
// Read server.go first, then storage.go; standalone.go and delegated.go are the two doors, views.go answers out of the
// views that pkg/zoneview/feed keeps.
package apiserver
