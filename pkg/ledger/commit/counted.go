// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"sync"

	"kubi.zone/kubizone/pkg/law"
)

// usage has the keys of the counts that this server has changed since the last sweep: keys of KindCount, without a
// namespace for all counts of a zone.
type usage struct {
	mu      sync.Mutex
	changed map[law.Key]bool
}

// noteCounts notes the counts that a committed batch has changed of a zone with Delegations, and those of the
// namespaces whose rules it changes.
func (u *usage) noteCounts(c *law.ZoneChange, facts map[law.Key]any) {
	if c == nil || c.Holding == nil || c.Holding.Delegations == 0 {
		return
	}
	for k := range facts {
		if k.Kind == law.KindCount || k.Kind == law.KindRules {
			u.Add(law.CountKey(k.Zone, k.Namespace))
		}
	}
}

// Add has a count looked at by the next sweep.
func (u *usage) Add(k law.Key) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.changed == nil {
		u.changed = map[law.Key]bool{}
	}
	u.changed[k] = true
}

// Take takes up to most of them.
func (u *usage) Take(most int) []law.Key {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out []law.Key
	for k := range u.changed {
		if len(out) == most {
			break
		}
		delete(u.changed, k)
		out = append(out, k)
	}
	return out
}
