// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"time"

	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
)

// DropGuards leaves out the compares of zones ("zone"), of single keys ("facts")
// or both ("all"), or of reservations ("reserved"): the controls of the race tests.
func DropGuards(kind string) func(*Config) { return func(c *Config) { c.dropGuards = kind } }

// SlowTurn is from what duration of a commit point on a batch's records are sent before it is answered.
func SlowTurn(d time.Duration) func(*Config) { return func(c *Config) { c.slowTurn = d } }

// Waiting is how many writes wait at a zone to go together.
func (l *Ledger) Waiting(namespace, zone string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.head(l.layout.Zone(namespace, zone)).queue)
}

// Facts is how many are remembered of a zone; Forget lets go of those of zones not written since.
func (l *Ledger) Facts(namespace, zone string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.head(l.layout.Zone(namespace, zone)).facts)
}

func (l *Ledger) Forget(since time.Time) { l.forget(since) }

// Knows: the server has heard of the zone with this name.
func (l *Ledger) Knows(view, fqdn string) bool {
	n, err := name.Parse(fqdn)
	l.mu.Lock()
	defer l.mu.Unlock()
	return err == nil && l.index[law.HoldingKey(view, n)] != nil
}

// Storage is what a decorated storage of Records is around.
func Storage(s storage.Interface) storage.Interface { return s.(*records).Interface }
