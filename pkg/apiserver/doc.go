// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver builds the Kubernetes API server of kubi.zone.
//
// Guarantees:
//
//	A1. The ledger (zone/ledger) decides every write of a Zone, Record or Delegation. No other API path writes their
//	    keys.
//	A2. zones/entries and zones/changes serve the content at the Zone's serial in etcd, or a later serial (S7.1).
//	    Content that does not match its hash is never served.
//	A3. Without kube-apiserver (standalone), clients with a certificate of group system:masters may do everything.
//	    Others get 403, except on health and version paths.
//	A4. No object has a TTL, and undecodable objects cannot be deleted: both would bypass the ledger.
//	A5. On shutdown /readyz fails, accepted requests finish, and each connection closes with its next response.
//	A6. Behind kube-apiserver (delegated), kube-apiserver authenticates and authorizes. Request headers name a user
//	    only if an allowed name is in the client's certificate; an empty list allows none. Anonymous clients reach
//	    only health paths.
//	A7. A delegated server's /readyz names each missing RBAC permission.
//	A8. Until /readyz has passed once, requests for objects get 503 with Retry-After.
//
// registry has the REST storage of each resource, history the answers about the past, judge writes Ready of Zones and
// Records, inventory the status of the Installation. authorization, admission, quota, budget, permissions and pace
// decide about requests before; serving and loopback make certificates and clients of the server; sharing saves memory;
// backup copies the store.
//
// For: kubizone apiserver, up, backup, restore and fsck. Imports: kit, dns, apis, zone, and of delivery the form of a
// Delivery.
//
// Read server.go first, then storage.go.
package apiserver
