// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"bytes"
	"context"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

const defaultCheckEvery = 100

// CheckCovered looks for a fault of this program: a fact (stored value) written without its Zone. Every write of a fact
// must also write the Zone, since transactions compare only the Zone's revision. After each Config.CheckEvery-th
// decision, CheckCovered reads such facts again, and logs and counts those that differ.
func (s *Session) CheckCovered(ctx context.Context) {
	mem, every := s.mem, s.mem.CheckEvery
	if every == 0 && klog.V(5).Enabled() {
		every = defaultCheckEvery
	}
	if every == 0 || mem.decisions.Add(1)%every != 0 {
		return
	}

	// Select the used facts without a compare of their own. Values in an overlay are not yet in etcd.
	var keys []law.Key
	for k := range s.Seen.All() {
		overlaid := false
		if s.Overlay != nil {
			_, overlaid = s.Overlay.Facts[k]
		}
		if zoneScoped(k) && s.Seen.IsUsed(k) && s.proofIndex(k) < 0 && !overlaid {
			keys = append(keys, k)
		}
	}
	fresh := mem.Session(false)
	fresh.Overlay = s.Overlay
	if len(keys) == 0 || fresh.ReadFacts(ctx, keys) != nil {
		return
	}

	// If the zone is still at the revision of the decision, the facts must be equal.
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	for _, k := range keys {
		cached, _ := s.Seen.Get(k)
		stored, _ := fresh.Seen.Get(k)
		if h := mem.byUID[k.Zone]; h != nil && s.readAtRevisionOf(h) && !bytes.Equal(layout.Encode(cached), layout.Encode(stored)) {
			mem.Stats.UncoveredFacts.Add(1)
			klog.FromContext(ctx).Error(nil, "A fact was written beside its zone. Please report this", "key", mem.Layout.Key(k),
				"remembered", cached, "stored", stored)
		}
	}
}
