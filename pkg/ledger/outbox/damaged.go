// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/facts"
)

// A record that cannot be read does not stop a cascade. The cascade leaves it out and notes it in its item, and takes
// its marks from the zones as if the record had been decided. The item stays with what was left out alone. A server
// that can read the record again, or finds it gone, ends the item.

// MaxDamaged bounds the records that an item notes. With more of them the store is damaged, or the encryption
// configuration is wrong, and the cascade waits for a repair.
const MaxDamaged = 100

// leaveOut notes a record that cannot be read, for the reason cause.
func (s *standing) leaveOut(ctx context.Context, record law.Ref, cause error) error {
	if slices.Contains(s.damaged, record) {
		return nil
	}
	if len(s.damaged) == MaxDamaged {
		return fmt.Errorf("more than %d records: %w: %w", MaxDamaged, facts.ErrDamaged, cause)
	}
	s.damaged = append(s.damaged, record)
	klog.FromContext(ctx).Error(cause, "a cascade leaves out a record that cannot be read; run kubizone fsck", "record", record.Namespace+
		"/"+record.Name, "why", s.Work.Reason)
	return nil
}

// remainder returns the item of a work that has left records out and is otherwise through.
func (s *standing) remainder() law.Work {
	w := s.Work
	return law.Work{ID: w.ID, Reason: w.Reason, View: w.View, By: w.By, Since: w.Since, Damaged: s.damaged}
}

// collectLeftOut finds the records that a work left out and that can be read again.
func (box *Outbox) collectLeftOut(ctx context.Context, s *standing, add func(candidate)) error {
	for _, record := range s.Work.Damaged {
		o, _, err := box.mem.ReadRecord(ctx, record.Namespace, record.Name)
		switch {
		case errors.Is(err, facts.ErrDamaged):
			if err := s.leaveOut(ctx, record, err); err != nil {
				return err
			}
		case err != nil:
			return err
		case o != nil && (record.UID == "" || string(o.UID) == record.UID):
			c, err := box.recordCandidate(ctx, o)
			if err != nil {
				return err
			}
			add(c)
		}
	}
	return nil
}
