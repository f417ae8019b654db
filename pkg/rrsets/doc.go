// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rrsets writes the Records of one owner: it plans which Records change so that exactly the wanted RRsets are
// at the owner's names, and sends the changes as change sets.
//
// It promises:
//
//  1. A plan deletes Records of the owner alone, and only at names that the wanted RRsets describe completely. It
//     names the other managers of each Record that it changes, deletes first, and leaves out a Record that is as
//     wanted. The plan of its own outcome is empty.
//  2. A change set has Records of one namespace, no more items and octets than the server takes (S10.4), and all
//     changes at one name, as far as they fit. A set that etcd does not take is halved.
//  3. A refused change does not keep others from being written, unless the caller wants all or none.
//  4. A request whose answer is lost, or that the server cannot serve now, is repeated, no sooner than Retry-After
//     says. A change whose Record others have changed since is made anew of the Record that there is.
//  5. Each change has one outcome, with the refusals as values.
//
// It does not know where the wanted RRsets come from, and needs no more rights than its client has.
//
// Read first: write.go, plan.go, change.go, retry.go.
package rrsets
