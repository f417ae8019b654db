// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// item is one of the outbox, and its revision.
type item struct {
	work law.Work
	mod  int64
}

// errThrough: another server finished the work meanwhile; errElsewhere: one carries it out.
var (
	errThrough   = errors.New("the cascade is through")
	errElsewhere = errors.New("another server carries the cascade out")
)

// refresh reads the item again after a lost race; errThrough when it is gone.
func (i *item) refresh(ctx context.Context, mem *memory) error {
	r, err := mem.client.Get(ctx, mem.layout.Outbox(i.work.ID))
	if err != nil {
		return err
	}
	if len(r.Kvs) == 0 {
		return errThrough
	}
	if r.Kvs[0].ModRevision == i.mod {
		return nil
	}
	var w law.Work
	if err := layout.Decode(r.Kvs[0].Value, &w); err != nil {
		return fmt.Errorf("ledger: %s: %w", r.Kvs[0].Key, err)
	}
	before := i.work.Runner
	if i.work, i.mod = w, r.Kvs[0].ModRevision; w.Runner != before && w.Runner != mem.id {
		return errElsewhere
	}
	return nil
}
