// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"fmt"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/precedence"
)

// claim is what a class says that names mean, and since when it may.
type claim struct {
	since time.Time
	names map[string]string
	// lost is the class that has one of them with another meaning, empty for none.
	lost string
}

// claimOf is nil where a class claims nothing. One that is paused is served by nobody, so it holds nothing.
func claimOf(of *v1alpha1.DNSClass, can delivery.Abilities) *claim {
	if can.Claims == nil || of.Spec.Paused {
		return nil
	}
	return &claim{since: of.CreationTimestamp.Time, names: can.Claims}
}

// contend finds out who has what: the class that was made first, as primaries see it (transferclass). It has classes of
// which that is another one now looked at again. c.mu is held.
func (c *Controller) contend() {
	var order []precedence.Rank // their ids are the names of classes
	for name, known := range c.known {
		if known.claim != nil {
			order = append(order, precedence.Rank{Since: known.claim.since, ID: name})
		}
	}
	slices.SortFunc(order, precedence.Rank.Compare)
	_, lost := precedence.Decide(order, func(class precedence.Rank) map[string]string { return c.known[class.ID].claim.names })
	for at, class := range order {
		if known := c.known[class.ID]; known.claim.lost != lost[at].ID {
			known.claim.lost, known.stale = lost[at].ID, true
			c.queue.Add(task{kind: classTask, name: class.ID})
		}
	}
}

// lostTo is what is told of a class whose name another one has.
func lostTo(other string) *delivery.Error {
	return &delivery.Error{Reason: delivery.ReasonInvalidConfiguration, Message: fmt.Sprintf(
		"DNSClass %s, which was made earlier, has another TSIG key of the same name, and who signs says by the name alone which is meant: this class is not served. Name its key otherwise, in its Secret and at its secondaries", other)}
}
