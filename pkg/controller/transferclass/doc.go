// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transferclass keeps the classes of a hidden primary as the API has them: its peers are those of the
// DNSClasses with a block transfer, its zones those that Deliveries say are delivered by them.
//
// It promises: (1) A zone is in a class from the write of its first intent until its Delivery goes, for every primary
// that reads the same store; so none has to be elected. (2) A class is served with all of its members or not at all:
// nothing is served before all Deliveries are listed, one listing replaces another as a whole, and a member goes only
// while the API still has the class. (3) The serial of a catalog stands for its content: it is the revision of the
// last change of the class's members, counted from the class's creation, so it grows and is the same everywhere. (4)
// A class whose Secret is missing or whose settings are broken is not served; one whose Secret cannot be read at the
// moment keeps what it had. (5) A class has the name of a key that it uses by its status, which the controller writes;
// a server has no key whose name is not one of its namespace (S11.17, S11.18).
//
// It does not know what is in zones, nor how far secondaries are: pkg/delivery/transfer asks them.
//
// Read members.go first, then peers.go and controller.go.
package transferclass
