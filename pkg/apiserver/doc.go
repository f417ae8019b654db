// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver builds the Kubernetes API server of kubi.zone.
//
// Guarantees:
//
//	A1. The ledger (pkg/ledger) decides every write of a Zone, Record or Delegation. No other API path writes their
//	    keys.
//	A2. zones/entries and zones/changes answer at the Zone's serial in etcd, or a later serial (S7.1). Content that
//	    does not match its hash is never served: only that zone is frozen.
//	A3. Standalone: clients with a certificate of group system:masters may do everything. Others get 403 with the
//	    reason, except on health and version paths. The server also serves the discovery of the core group,
//	    SelfSubjectReview and SelfSubjectAccessReview.
//	A4. No object has a TTL, and an undecodable object cannot be deleted: both would bypass the ledger.
//	A5. Shutdown: /readyz fails, connections are closed with their next response, accepted requests finish, and
//	    the connections to etcd close.
//	A6. Delegated: kube-apiserver authenticates and authorizes. Request headers name a user only if the client's
//	    certificate has an allowed name. An empty list allows no client. Anonymous clients reach only health paths.
//	A7. Delegated: /readyz names each missing RBAC permission.
//	A8. Until /readyz has passed once, requests for objects get 503 with Retry-After.
//
// Out of scope: decisions about names and records (law, ledger), DNS (primary), and the etcd process (pkg/etcd/embed).
//
// Read server.go first, then storage.go; standalone.go and delegated.go build the two kinds of server, and views.go
// reads the zones in memory (pkg/zoneview/feed).
package apiserver
