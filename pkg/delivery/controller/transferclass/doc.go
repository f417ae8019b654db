// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transferclass configures a hidden primary from API objects. The peers, the servers that transfer zones, come
// from DNSClasses with a block transfer or bind9. The zones come from Deliveries.
//
// Guarantees:
//
//  1. A zone is in a class, at every primary of the same store, from the first intent (planned write) in the Delivery
//     until the Delivery is deleted.
//  2. A class is served with all members or not at all. Serving begins when all Deliveries are listed.
//  3. A member leaves only while the API has the class.
//  4. A catalog's serial grows and is the same at every primary, because it derives from the revision of the last
//     change of members and the class's creation.
//  5. A class with a missing Secret or invalid settings is not served. While a Secret cannot be read, the class keeps
//     its keys.
//  6. The name of a key in use belongs to the class with the name in its status.
//  7. A BIND 9 server has only keys named after its namespace (S11.17, S11.18).
//
// Read members.go first, then peers.go and controller.go.
package transferclass
