// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
)

// Claimant is a Provider that some names can mean one thing for in all classes together.
type Claimant interface {
	// Claims are what each name means to the class, in a form that is compared and never printed.
	Claims() map[string]string
}

// claim is what a class says that names mean, and since when it may.
type claim struct {
	since time.Time
	names map[string]string
	// lost is the class that has one of them with another meaning, empty for none.
	lost string
}

// claimOf is nil where a class claims nothing. One that is paused is served by nobody, so it holds nothing.
func claimOf(of *v1alpha1.DNSClass, provider delivery.Provider) *claim {
	claimant, ok := provider.(Claimant)
	if !ok || of.Spec.Paused {
		return nil
	}
	return &claim{since: of.CreationTimestamp.Time, names: claimant.Claims()}
}

// contend finds out who has what: the class that was made first, as primaries see it (transferclass). It has classes of
// which that is another one now looked at again. c.mu is held.
func (c *Controller) contend() {
	var order []string
	for name, known := range c.known {
		if known.claim != nil {
			order = append(order, name)
		}
	}
	slices.SortFunc(order, func(a, b string) int {
		return cmp.Or(c.known[a].claim.since.Compare(c.known[b].claim.since), cmp.Compare(a, b))
	})
	type held struct{ class, meaning string }
	has := map[string]held{}
	for _, name := range order {
		known, lost := c.known[name], ""
		for text, meaning := range known.claim.names {
			if first, ok := has[text]; ok && first.meaning != meaning && (lost == "" || first.class < lost) {
				lost = first.class
			}
		}
		if lost == "" {
			for text, meaning := range known.claim.names {
				if _, ok := has[text]; !ok {
					has[text] = held{name, meaning}
				}
			}
		}
		if known.claim.lost != lost {
			known.claim.lost, known.stale = lost, true
			c.queue.Add(task{kind: classTask, name: name})
		}
	}
}

// lostTo is what is told of a class whose name another one has.
func lostTo(other string) *delivery.Error {
	return &delivery.Error{Reason: delivery.ReasonInvalidConfiguration, Message: fmt.Sprintf(
		"DNSClass %s, which was made earlier, has another TSIG key of the same name, and who signs says by the name alone which is meant: this class is not served. Name its key otherwise, in its Secret and at its secondaries", other)}
}
