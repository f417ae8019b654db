// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"

	"kubi.zone/kubizone/pkg/dns/name"
)

// RefuseMoving is for now. Where a cascade is refused so, the object waits as any: the reason Moving is of what stood.
func RefuseMoving(n, zone name.Name) *Refusal {
	return &Refusal{Kind: Later, Reason: ReasonNameHeld, Message: fmt.Sprintf("names at, above or below %s are moving to zone %s "+
		"(S2.10; try again when that is done)", n, zone)}
}
