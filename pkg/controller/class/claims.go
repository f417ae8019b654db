// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"fmt"
	"time"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
)

// claim is what a class says that names mean, and since when it may.
type claim struct {
	since time.Time
	names map[string]string
	// lost is the class that has one of them with another meaning, empty for none.
	lost string
}

// claimOf is nil where a class claims nothing. No primary serves a class that is paused, so it claims nothing.
func claimOf(of *v1alpha1.DNSClass, can delivery.Abilities) *claim {
	if can.Claims == nil || of.Spec.Paused {
		return nil
	}
	return &claim{since: of.CreationTimestamp.Time, names: can.Claims}
}

// lostTo is what is told of a class whose name another one has.
func lostTo(other string) *delivery.Error {
	return &delivery.Error{Reason: delivery.ReasonInvalidConfiguration, Message: fmt.Sprintf(
		"DNSClass %s, which was made earlier, has another TSIG key of the same name, and a signature says by the name alone which key it is of, so this class is not served. Name its key otherwise, in its Secret and at its secondaries", other)}
}
