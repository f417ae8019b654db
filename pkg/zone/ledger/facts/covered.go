// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"bytes"
	"context"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

const defaultCheckEvery = 100

// CheckCovered looks for a fault of this program: a fact (stored value) written without its Zone. Every write of a fact
// must also write the Zone, since transactions compare only the Zone's revision. After each Config.CheckEvery-th
// decision, CheckCovered reads such facts again, and logs and counts those that differ.
func (s *ReadSet) CheckCovered(ctx context.Context) {
	every := s.mem.CheckEvery
	if every == 0 && klog.V(5).Enabled() {
		every = defaultCheckEvery
	}
	if every == 0 || s.mem.decisions.Add(1)%every != 0 {
		return
	}

	keys := s.listCovered()
	if len(keys) == 0 {
		return
	}
	// ReadFacts asks etcd for each key, cached or not.
	fresh := s.mem.ReadSet(false) // reads, without guesses
	fresh.Overlay = s.Overlay
	if err := fresh.ReadFacts(ctx, keys); err != nil {
		return
	}
	s.reportDifferences(ctx, keys, fresh)
}

// listCovered returns the keys of the used facts whose only proof is the Zone's revision. A fact of an earlier write in
// the batch is newer than etcd's, and data below a name is a hint, so neither is in the list.
func (s *ReadSet) listCovered() (keys []law.Key) {
	for k := range s.Seen.All() {
		_, isOverlaid := s.Overlay.Facts[k]
		if !isOverlaid && k.Kind != law.KindTouched && s.isCovered(k) {
			keys = append(keys, k)
		}
	}
	return keys
}

func (s *ReadSet) isCovered(k law.Key) bool {
	return zoneScoped(k) && s.Seen.IsUsed(k) && s.proofIndex(k) < 0
}

// reportDifferences logs each key whose value in s differs from etcd's (fresh) although the Zone has the same revision.
func (s *ReadSet) reportDifferences(ctx context.Context, keys []law.Key, fresh *ReadSet) {
	mem := s.mem
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	for _, k := range keys {
		cached, _ := s.Seen.Get(k)
		stored, _ := fresh.Seen.Get(k)
		isSameRevision := s.headAsRead(k.Zone) != nil // so the facts must be equal
		if isSameRevision && !bytes.Equal(layout.Encode(cached), layout.Encode(stored)) {
			mem.Stats.UncoveredFacts.Add(1)
			klog.FromContext(ctx).Error(nil, "A fact was written beside its zone. Please report this", "key", mem.Layout.Key(k),
				"remembered", cached, "stored", stored)
		}
	}
}
