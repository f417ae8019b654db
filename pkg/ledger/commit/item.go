// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"errors"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/facts"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// Item is an outbox item and its revision.
type Item struct {
	Work law.Work
	Mod  int64
}

// ErrThrough says that another server finished the work meanwhile, and ErrElsewhere that another server carries it
// out.
var (
	ErrThrough   = errors.New("the cascade is through")
	ErrElsewhere = errors.New("another server carries the cascade out")
)

// Refresh reads the item again after a lost race; ErrThrough when it is gone.
func (i *Item) Refresh(ctx context.Context, mem *facts.Memory) error {
	r, err := mem.Client.Get(ctx, mem.Layout.Outbox(i.Work.ID))
	if err != nil {
		return err
	}
	if len(r.Kvs) == 0 {
		return ErrThrough
	}
	if r.Kvs[0].ModRevision == i.Mod {
		return nil
	}
	var w law.Work
	if err := layout.Decode(r.Kvs[0].Value, &w); err != nil {
		return layout.Unreadable(string(r.Kvs[0].Key), err)
	}
	before := i.Work.Runner
	if i.Work, i.Mod = w, r.Kvs[0].ModRevision; w.Runner != before && w.Runner != mem.ID {
		return ErrElsewhere
	}
	return nil
}
