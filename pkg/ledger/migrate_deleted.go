// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"encoding/json"

	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// spansDeleted is the migration that gives the marks of removed RRsets their spans.
const spansDeleted = 12

// spanDeleted rewrites the marks in deleted/ (S7.5). Until format 11 a mark had the step at which its RRset first
// came, the step at which it was last removed, and whether it is there. So an RRset that came a second time was
// counted in contents between, which did not have it.
func spanDeleted(ctx context.Context, m *migrating) error {
	type mark struct {
		Type rdata.Type `json:"t"`
		Came uint64     `json:"c"`
		At   uint64     `json:"n"`
		Back bool       `json:"b"`
		Of   string     `json:"o"`
		// Spans is there where this was done already.
		Spans []law.Span `json:"p"`
	}
	return m.rewriteValues(ctx, m.mem.Layout.Room("deleted"), func(_ string, value []byte) ([]byte, error) {
		var old struct {
			Marks []mark `json:"d"`
		}
		if err := json.Unmarshal(value, &old); err != nil {
			return value, nil // fsck says so
		}
		var d law.Deleted
		for _, x := range old.Marks {
			switch {
			case x.Spans != nil:
				return value, nil
			case x.Back:
				d.RRsets = append(d.RRsets, law.DeletedRRset{Type: x.Type, Spans: []law.Span{{From: x.Came}}})
			default:
				d.RRsets = append(d.RRsets, law.DeletedRRset{Type: x.Type, Spans: []law.Span{{From: x.Came, To: x.At}}, At: x.At, Of: x.Of})
			}
		}
		return layout.Encode(&d), nil
	})
}
