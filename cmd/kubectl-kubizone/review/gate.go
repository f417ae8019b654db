// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"fmt"
	"strings"

	"kubi.zone/kubizone/pkg/client/plan"
)

// Only a zone of minRRsets or more has a limit by share, as in S7.5.
const minRRsets = 10

type gate struct {
	maxRemoved                int
	allowReleases, allowZones bool
}

// judgePlan returns the reasons why the branch removes too much: names of other namespaces, a zone from a class, a
// Zone, or a share of a zone's RRsets.
func (g *gate) judgePlan(plan *plan.Plan) (reasons []string) {
	releases := 0
	for _, note := range plan.Notes {
		if note.Kind == "releases" {
			releases++
		}
	}
	if releases > 0 && !g.allowReleases {
		reasons = append(reasons, fmt.Sprintf("other namespaces lose names (%d times \"releases\" below); --allow-releases lets that "+
			"through", releases))
	}
	for _, z := range plan.Zones {
		reasons = append(reasons, g.judgeZone(z)...)
	}
	return reasons
}

func (g *gate) judgeZone(z *plan.ZonePlan) (reasons []string) {
	if !g.allowZones {
		reasons = judgeRemoval(z)
	}
	removed := int64(z.Removed())
	switch {
	case z.Unread && removed > 0 && g.maxRemoved < 100:
		// Without the number of RRsets, the share is unknown. A share of 100 % allows any removal.
		reasons = append(reasons, fmt.Sprintf("%s loses values in %d RRsets of an unknown number: you lack the right to get the "+
			"Zone; give it to the user of the job", z.Zone, removed))
	case !z.IsRemoved() && z.RRsets >= minRRsets && removed*100 > z.RRsets*int64(g.maxRemoved):
		// A Zone that goes takes all of its RRsets, so the share would say nothing more.
		reasons = append(reasons, fmt.Sprintf("%s loses values in %d of %d RRsets, more than %d %%; --max-removed sets another share",
			z.Zone, removed, z.RRsets, g.maxRemoved))
	}
	return reasons
}

func judgeRemoval(z *plan.ZonePlan) (reasons []string) {
	if len(z.Left) > 0 {
		reasons = append(reasons, fmt.Sprintf("the Zone %s leaves %s, whose servers remove it; --allow-zone-removal lets that through",
			z.Zone, strings.Join(z.Left, ", ")))
	}
	if z.IsRemoved() {
		reasons = append(reasons, fmt.Sprintf("the Zone %s goes; --allow-zone-removal lets that through", z.Zone))
	}
	return reasons
}
