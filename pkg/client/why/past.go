// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"slices"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/history"
)

func (i *inquiry) noteLastChange(ctx context.Context) {
	if i.History == nil {
		return
	}
	at := slices.IndexFunc(i.chain.Paths, func(p Path) bool { return p.State == i.chain.State })
	if at < 0 {
		return
	}
	f, step := i.facts[at], (*v1alpha1.HistoryStep)(nil)
	of := ""
	switch {
	case f.Record != nil:
		of = "record " + f.Record.Namespace + "/" + f.Record.Name
		step, _ = i.History.LastOfRecord(ctx, f.Record.Namespace, f.Record.Name)
	case f.Zone != nil && f.Zone.Object != nil:
		of = "zone " + f.Zone.FQDN.String()
		step, _ = i.History.LastOfZone(ctx, f.Zone.Namespace, f.Zone.Name)
	}
	if step != nil {
		by := history.AuthorOf(step)
		i.note("last change of %s: by %s", of, by.String())
	}
}
